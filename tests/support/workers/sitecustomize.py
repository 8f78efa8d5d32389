"""Read by every Python that tests start, before anything else: Spark's own modules come from where they are kept compiled.

Spark puts a zip of them first on the path of its Python workers. Nothing can be kept compiled in there, so every worker compiles
them again, which took longer than all else that it does. The same modules are installed beside it.
"""

import sys

sys.path[:] = [place for place in sys.path if not place.endswith("/pyspark.zip")]
