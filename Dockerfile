# The image that `make image` writes without a container engine, for those who have one. Its last stage says what
# .ci/tools/image says, which a test compares:
#
#   docker build --build-arg VERSION="$(.ci/version)" --build-arg REVISION="$(git rev-parse HEAD)" -t promcost .
#   docker build --target apiserver --build-arg PROGRAM=promcost-apiserver … -t promcost-apiserver .
#   docker run --read-only --tmpfs /tmp -v promcost:/data -p 9003:9003 promcost serve --prometheus.url=http://prometheus:9090
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH VERSION REVISION PROGRAM=promcost
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make bin/build/$TARGETOS-$TARGETARCH/$PROGRAM && mkdir -p root/bin root/data root/licenses root/tmp && chmod 1777 root/tmp \
	&& cp bin/build/$TARGETOS-$TARGETARCH/$PROGRAM root/bin/ && cp LICENSE NOTICE root/licenses/ && chown 65532:65532 root/data

FROM scratch AS apiserver
ARG VERSION REVISION
LABEL org.opencontainers.image.title="promcost-apiserver" \
	org.opencontainers.image.description="What Kubernetes workloads cost" \
	org.opencontainers.image.version="$VERSION" \
	org.opencontainers.image.revision="$REVISION" \
	org.opencontainers.image.licenses="Apache-2.0" \
	org.opencontainers.image.source="https://github.com/promcost/promcost"
COPY --from=build /src/root /
WORKDIR /
USER 65532:65532
EXPOSE 8443/tcp
ENTRYPOINT ["/bin/promcost-apiserver"]

FROM scratch
ARG VERSION REVISION
LABEL org.opencontainers.image.title="promcost" \
	org.opencontainers.image.description="What Kubernetes workloads cost" \
	org.opencontainers.image.version="$VERSION" \
	org.opencontainers.image.revision="$REVISION" \
	org.opencontainers.image.licenses="Apache-2.0" \
	org.opencontainers.image.source="https://github.com/promcost/promcost"
COPY --from=build /src/root /
WORKDIR /
USER 65532:65532
EXPOSE 9003/tcp
ENTRYPOINT ["/bin/promcost"]
