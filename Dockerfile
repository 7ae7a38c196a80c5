# The command directrix, with its kernels compiled:
#   docker build -t directrix .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" directrix train train.txt -o model.json
FROM python:3.12-slim AS build
COPY . /source
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /dist /source

FROM python:3.12-slim
# LightGBM needs OpenMP, which the slim image leaves out
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/*
# code for any x86-64 processor since 2013, not only for the one that builds the image
ENV NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES="" PYTHONUNBUFFERED=1
# where Matplotlib keeps its list of fonts: a user whom --user names has no home
ENV MPLCONFIGDIR=/var/cache/matplotlib
COPY --from=build /dist/*.whl /tmp/
RUN wheel=$(ls /tmp/directrix-*.whl) \
    && pip install --no-cache-dir "${wheel}[arrow,plot]" \
    && rm "$wheel" \
    && directrix doctor --compile
# WORKDIR alone makes a folder of root's, in which the user cannot write
RUN useradd --create-home --uid 10001 directrix \
    && install --directory --owner=directrix /data \
    && install --directory --mode=1777 "$MPLCONFIGDIR" \
    && python -c "import matplotlib.font_manager"
USER directrix
WORKDIR /data
ENTRYPOINT ["directrix"]
CMD ["--help"]
