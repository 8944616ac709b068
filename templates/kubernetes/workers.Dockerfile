# What runs beside each TaskManager, and what starts the job: dxbeam and Java for Beam's job server.
#
#   docker build -f templates/kubernetes/workers.Dockerfile -t IMAGE .
#
# With --build-arg EXTRAS=fast,gpu for workers with a GPU; see gpu-workers.yaml.
FROM apache/beam_python3.11_sdk:2.77.0

RUN apt-get update && apt-get install -y --no-install-recommends default-jre-headless \
    && rm -rf /var/lib/apt/lists/*
ADD https://repo1.maven.org/maven2/org/apache/beam/beam-runners-flink-1.20-job-server/2.77.0/beam-runners-flink-1.20-job-server-2.77.0.jar /opt/flink-job-server.jar

WORKDIR /dxbeam
COPY pyproject.toml setup.py README.md LICENSE ./
COPY dxbeam dxbeam
COPY pipelines pipelines
ARG EXTRAS=fast
RUN pip install --no-cache-dir ".[$EXTRAS]" && pip check
