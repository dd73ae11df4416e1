# Two images: `cpu`, which is what `docker build .` makes, and `cuda` (--target cuda).
# How to run them, and what was tried of them: docs/deployment.md.

ARG NODE_IMAGE=node:22.23.2-bookworm-slim
# CUDA 12 and cuDNN 9, as onnxruntime-node's CUDA libraries need them; Node comes from the image above.
ARG CUDA_IMAGE=nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04

FROM ${NODE_IMAGE} AS manifests
WORKDIR /app
COPY package.json package-lock.json ./
# Without that of the benchmark, so that npm does not install what only the benchmark needs.
COPY client/package.json client/package.json
COPY redis/package.json redis/package.json

FROM manifests AS build
# Without `prepare`, which would build: the sources come below.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY client/tsconfig.json client/tsconfig.json
COPY client/src client/src
COPY src src
COPY gateway gateway
COPY cli cli
COPY web web
COPY redis/tsconfig.json redis/tsconfig.json
COPY redis/src redis/src
RUN npm run build:server && npm run build:back-ends && rm dist/.*.tsbuildinfo */dist/.tsbuildinfo

FROM manifests AS dependencies
# onnxruntime-node brings the libraries of all platforms; the image needs those of one.
RUN npm ci --omit=dev --ignore-scripts \
  && find node_modules/onnxruntime-node/bin/napi-v6 -mindepth 2 -maxdepth 2 \
    ! -path "*/$(node -p 'process.platform + "/" + process.arch')" -exec rm -r {} +

# From outside the npm registry (NuGet); x64 alone.
FROM dependencies AS cuda-dependencies
RUN npm run setup:cuda
# Those for another CUDA than that of the image would only be missed by whoever runs it.
RUN ldd node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime_providers_cuda.so | grep -F libcublas.so.12

# What both images hold beside their dependencies.
FROM scratch AS files
WORKDIR /app
COPY package.json LICENSE ./
COPY client/package.json client/package.json
COPY redis/package.json redis/package.json
COPY models models
COPY web/public web/public
# node_modules links to these: flinch-client to client, flinch-redis to redis.
COPY --from=build /app/client/dist client/dist
COPY --from=build /app/redis/dist redis/dist
COPY --from=build /app/dist dist

FROM ${CUDA_IMAGE} AS cuda
LABEL org.opencontainers.image.title="flinch" \
  org.opencontainers.image.description="A realtime guardrail for language models, on NVIDIA GPUs" \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=cuda-dependencies /app/node_modules /app/node_modules
COPY --from=files /app /app
WORKDIR /app
# TF32 has too few digits for scores. What CUDA compiles is kept where a read-only image has room, on the tmpfs at /tmp.
ENV NODE_ENV=production FLINCH_LISTEN_HOST=0.0.0.0 XDG_CACHE_HOME=/var/cache NVIDIA_TF32_OVERRIDE=0 CUDA_CACHE_PATH=/tmp/cuda
# Converted weights: a volume that is mounted here belongs to the user, too.
RUN install -d -o 1000 -g 1000 /var/cache/flinch
USER 1000:1000
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.FLINCH_HEALTH_PORT || process.env.FLINCH_LISTEN_PORT || process.env.PORT || 8787}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
# By default the CPU computes. Models that a configuration names have a `device` of their own, and want `serve` alone.
CMD ["serve", "--device", "cuda"]

# The last stage is what is built when no other is asked for.
FROM ${NODE_IMAGE} AS cpu
LABEL org.opencontainers.image.title="flinch" \
  org.opencontainers.image.description="A realtime guardrail for language models" \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.licenses="Apache-2.0"
COPY --from=dependencies /app/node_modules /app/node_modules
COPY --from=files /app /app
WORKDIR /app
# Others than this container can reach that, so that it does not start before it is told who may (docs/access.md).
ENV NODE_ENV=production FLINCH_LISTEN_HOST=0.0.0.0 XDG_CACHE_HOME=/var/cache
# Converted weights: a volume that is mounted here belongs to the user, too.
RUN install -d -o 1000 -g 1000 /var/cache/flinch
USER 1000:1000
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.FLINCH_HEALTH_PORT || process.env.FLINCH_LISTEN_PORT || process.env.PORT || 8787}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node is process 1 and hears SIGTERM itself: it drains.
ENTRYPOINT ["node", "/app/dist/cli/main.js"]
CMD ["serve"]
