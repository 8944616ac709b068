"""A release every night with Airflow: on Dataflow by the Flex Template, or by Beam's operator.

Needs apache-airflow-providers-google and apache-airflow-providers-apache-beam. A release has a
prefix of its own day; a task that is tried again finds the prefix claimed or whole, and says so.
"""

from __future__ import annotations

import pendulum
from airflow import DAG
from airflow.providers.apache.beam.operators.beam import BeamRunPythonPipelineOperator
from airflow.providers.google.cloud.operators.dataflow import DataflowStartFlexTemplateOperator

PROJECT, REGION, BUCKET = "my-project", "europe-west1", "gs://my-bucket"
IMAGE = f"{REGION}-docker.pkg.dev/{PROJECT}/dxbeam/sanitize"
DAY = "{{ ds }}"

FLAGS = {
    "input": f"{BUCKET}/notes/{DAY}/*.jsonl",
    "vocabulary": f"{BUCKET}/vocabularies/glove",
    "epsilon": "10",
    "rank_c": "0.02",
    "key_uri": f"{BUCKET}/keys/notes",
    "output": f"{BUCKET}/releases/{DAY}",
    "ledger": f"{BUCKET}/ledger.jsonl",
    "corpus_id": f"notes-{DAY}",
    "max_epsilon": "10",
}

with DAG(
    dag_id="dxbeam_nightly",
    schedule="15 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    tags=["dxbeam"],
) as dag:
    on_dataflow = DataflowStartFlexTemplateOperator(
        task_id="release_on_dataflow",
        project_id=PROJECT,
        location=REGION,
        wait_until_finished=True,
        body={
            "launchParameter": {
                "jobName": "dxbeam-{{ ds_nodash }}",
                "containerSpecGcsPath": f"{BUCKET}/templates/sanitize.json",
                "parameters": {
                    **FLAGS,
                    "number_of_worker_harness_threads": "1",
                    "sdk_container_image": IMAGE,
                },
                "environment": {"machineType": "n2-highmem-4", "maxWorkers": 50},
            }
        },
    )
    # The same release on another engine: keep one of the two.
    on_flink = BeamRunPythonPipelineOperator(
        task_id="release_on_flink",
        runner="FlinkRunner",
        py_options=["-m"],  # python -m dxbeam.pipelines.sanitize, as it is installed
        py_file="dxbeam.pipelines.sanitize",
        pipeline_options={
            **FLAGS,
            "flink_master": "dxbeam-flink-rest:8081",
            "flink_version": "1.20",
            "environment_type": "EXTERNAL",
            "environment_config": "localhost:50000",
            "environment_cache_millis": "3000",
            "parallelism": "4",
        },
    )
