# Builds dist/, with all packages.
FROM node:24-slim AS build
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
COPY service service
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build

# Installs the production packages. Node 24 has SQLite, so no stage needs a compiler.
FROM node:24-slim AS packages
WORKDIR /app
COPY .npmrc package.json package-lock.json ./
COPY service service
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:24-slim
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/package.json package.json
COPY --from=build /app/service service
COPY --from=build /app/dist dist
# npm has linked the program there. A volume that is created from the image inherits the owner.
RUN ln -s /app/node_modules/.bin/plant-store /usr/local/bin/ && mkdir /data && chown node:node /data
# The default store, data/plants.db, and the token file are then in the volume.
WORKDIR /
ENV NODE_ENV=production HOST=0.0.0.0
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["plant-store", "health", "--ready"]
# Not through npm or a shell, so that it receives the signals.
CMD ["plant-store"]
