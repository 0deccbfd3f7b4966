"""Print a tokenizer's config as the variant ``tokenizer`` has it; the image holds that variant beside the product."""

import json
import sys
from pathlib import Path

from sentiment_build.variants import VARIANTS

if __name__ == "__main__":
    config = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    config.update(VARIANTS["tokenizer"].preprocessor)
    print(json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True))  # as artifact.write_json writes it
