# The coordinator: docker build -f deploy/docker/coordinator.Dockerfile -t rollcall-dev/coordinator:dev .
# The same version of Go makes the same program. To name the very image:
# --build-arg GO_IMAGE=golang@sha256:...
ARG GO_IMAGE=golang:1.26
FROM --platform=$BUILDPLATFORM $GO_IMAGE AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -tags grpcnotrace -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION" -o / ./cmd/rollcall-coordinator ./cmd/rollcall

RUN mkdir -p /root-of-image/etc && echo 'nonroot:x:65532:65532::/:/sbin/nologin' >/root-of-image/etc/passwd

# There is no base image: the programs are static.
FROM scratch
COPY --from=build /root-of-image /
# The command line is for what runs once: rollcall guard-expire.
COPY --from=build /rollcall-coordinator /rollcall /
COPY deploy/licences/coordinator.txt /licences.txt
USER 65532:65532
ENTRYPOINT ["/rollcall-coordinator"]
