# The coordinator: docker build -f deploy/docker/coordinator.Dockerfile -t rollcall-dev/coordinator:dev .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -tags grpcnotrace -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION" -o / ./cmd/rollcall-coordinator ./cmd/rollcall

FROM gcr.io/distroless/static:nonroot
# The command line is for what runs once: rollcall guard-expire.
COPY --from=build /rollcall-coordinator /rollcall /
COPY deploy/licences/coordinator.txt /licences.txt
USER 65532:65532
ENTRYPOINT ["/rollcall-coordinator"]
