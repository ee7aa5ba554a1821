# syntax=docker/dockerfile:1
# The command in an image, with nothing beside it:
#
#   docker build -t ncforge .
#   docker run --rm -u "$(id -u):$(id -g)" -v "$PWD:/data" ncforge info sst.nc

FROM rust:1-slim-trixie AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo install --locked --path crates/ncforge-cli --root /out && strip /out/bin/ncforge

FROM debian:trixie-slim
COPY --from=build /out/bin/ncforge /usr/local/bin/ncforge
COPY LICENSE-MIT LICENSE-APACHE docs/reference/licences.md /usr/local/share/doc/ncforge/
RUN ncforge man --dir /usr/local/share/man/man1 && ncforge --version
WORKDIR /data
ENTRYPOINT ["ncforge"]
CMD ["--help"]
