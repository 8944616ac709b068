"""On the path of a worker pool's processes: what they log at INFO goes to the pool's log."""

import logging

logging.basicConfig(level=logging.INFO)
