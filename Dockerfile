# A build is reproducible if the base image is named by its digest, which `docker buildx imagetools inspect node:24-slim`
# prints: docker build --build-arg NODE_IMAGE=node:24-slim@sha256:… .
ARG NODE_IMAGE=node:24-slim

# Makes the npm package, whose service is bundled: it needs no other packages on Node 24.
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# The sources, which `prepare` would build, are not here yet.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run package && tar -xzf plant-store-*.tgz

FROM ${NODE_IMAGE}
COPY --from=build /app/package /app
# A volume that is created from the image inherits the owner.
RUN ln -s /app/plant-store.js /usr/local/bin/plant-store && mkdir /data && chown node:node /data
# The default store, data/plants.db, and the token file are then in the volume.
WORKDIR /
ENV NODE_ENV=production HOST=0.0.0.0
# The user node. A number, because Kubernetes cannot check that a name is not that of root.
USER 1000:1000
VOLUME /data
EXPOSE 3000 3001
# Asks whether the process responds, and not whether the service is ready: a restart would not help.
HEALTHCHECK --interval=15s --timeout=3s --start-period=40s CMD ["node", "-e", "\
  fetch('http://127.0.0.1:' + (process.env.MANAGEMENT_PORT ?? 3001) + '/health/live').then(({ ok }) => process.exit(ok ? 0 : 1))"]
# Not through npm or a shell, so that it receives the signals.
CMD ["plant-store"]
