#!/bin/sh
# A release every night with a kept key and a ledger, as cron calls it:
#
#   NOTES=/srv/notes
#   RELEASES=/srv/releases
#   METRICS=/srv/metrics
#   KEY=/etc/dxbeam/key
#   15 2 * * *  /srv/dxbeam/examples/scheduled_job.sh
#
# The notes of a day are in $NOTES/YYYY-MM-DD/*.jsonl; the releases, which may be given away, in
# $RELEASES/YYYY-MM-DD. Metrics are computed from the raw text, so they must stay private: in
# $METRICS/YYYY-MM-DD, a folder for each run. So must the ledger, $METRICS/ledger.jsonl.
# The key is made once:  (umask 077; openssl rand -hex 32 > /etc/dxbeam/key)
#
# DAY (default: today, UTC) names the day, so that a night that was missed can be made up for. A day
# that is released already is left alone, and compared with the ledger. If the folder of a release
# was lost, run the day again: the documents come out the same, byte for byte, and it costs nothing
# in the ledger. If only a part was lost, delete the rest first. A day whose notes were changed since
# is another release, which --max_epsilon refuses.
set -eu

day=${DAY:-$(date -u +%Y-%m-%d)}
python=${PYTHON:-python}
release=$RELEASES/$day

if [ ! -e "$release/release.json" ]; then
  "$python" -m dxbeam sanitize \
    --input="$NOTES/$day/*.jsonl" \
    --vocabulary="${VOCABULARY:-demo}" \
    --epsilon=10 \
    --rank_c=0.02 \
    --key_uri="file://$KEY" \
    --output="$release" \
    --metrics_output="$METRICS/$day/$(date -u +%H%M%S)-$$" \
    --ledger="$METRICS/ledger.jsonl" \
    --corpus_id="notes-$day" \
    --max_epsilon=10
fi
"$python" -m dxbeam verify "$release" --ledger "$METRICS/ledger.jsonl"
