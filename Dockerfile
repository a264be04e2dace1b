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
COPY --from=build /app/dist dist
# A volume that is created from the image inherits the owner.
RUN mkdir /data && chown node:node /data
ENV NODE_ENV=production HOST=0.0.0.0 DATABASE_URL=sqlite:/data/plants.db
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.MANAGEMENT_PORT || 3001) + '/health/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Runs node itself, so that it receives the signals.
CMD ["node", "dist/main.js"]
