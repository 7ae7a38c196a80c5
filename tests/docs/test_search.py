"""The search of the built site finds the page that answers, as its first hit.

The site's own search program runs under Node.js, on the index that MkDocs writes.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FIRST = {
    "nan": "how-to/missing-values.html#missing-values-nan",
    "missing values": "how-to/missing-values.html",
    "group": "how-to/data.html#arrays-and-the-arguments-qid-and-group",
    "position bias": "clicks.html#position-bias",
    "shap": "how-to/inspect.html#shap-values",
    "feature importance": "how-to/inspect.html#feature-importance-what-a-model-depends-on",
    "deploy": "how-to/deploy.html",
    "why is my ndcg different": "reference/conventions.html",
    "time budget": "choose.html#train-within-a-time-budget",
    "install": "install.html",
    "hyperparameters": "choose.html",
    "pandas": "how-to/data.html#data-frames",
    "significance test": "how-to/compare.html",
    "memory": "how-to/large-data.html",
}
ASK = r"""
const [fs, path] = [require("fs"), require("path")];
const [site, ...queries] = process.argv.slice(1);
const workers = path.join(site, "assets/javascripts/workers");
const read = (...names) => fs.readFileSync(path.join(...names), "utf8");
const program = read(workers, fs.readdirSync(workers).find((name) => name.endsWith(".js")));
const index = JSON.parse(read(site, "search/search_index.json"));
let receive, answer;
globalThis.self = globalThis;
globalThis.addEventListener = (_, handler) => { receive = handler; };
globalThis.postMessage = (message) => answer(message);
require("vm").runInThisContext(program);
const send = (type, data) => new Promise((done) => { answer = done; receive({ data: { type, data } }); });
(async () => {
  await send(0, { ...index, options: { suggest: false } });
  const first = {};
  for (const query of queries) {
    const { data } = await send(2, query);
    first[query] = data.items.length ? data.items[0][0].location : null;
  }
  console.log(JSON.stringify(first));
})();
"""


@pytest.fixture(scope="module")
def first_hits(tmp_path_factory):
    """The location of the first hit of every query."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("the search of the site needs Node.js, the command `node`")
    pytest.importorskip("material", reason="mkdocs-material comes with the extra 'docs'")
    site = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(site)]
    subprocess.run(build, cwd=ROOT, check=True)
    asked = subprocess.run([node, "-e", ASK, str(site), *FIRST], capture_output=True, text=True, check=True)
    return json.loads(asked.stdout)


@pytest.mark.parametrize("query", FIRST)
def test_the_first_hit_answers(query, first_hits):
    assert first_hits[query] == FIRST[query]
