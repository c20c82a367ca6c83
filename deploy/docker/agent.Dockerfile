# The agent: docker build -f deploy/docker/agent.Dockerfile -t rollcall-dev/agent:dev .
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
    go build -tags grpcnotrace,nethttpomithttp2 -gcflags=all=-l -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X main.version=$VERSION -funcalign=16" -o /rollcall-agent ./cmd/rollcall-agent

RUN mkdir -p /root-of-image/etc && echo 'nonroot:x:65532:65532::/:/sbin/nologin' >/root-of-image/etc/passwd

# There is no base image: the programs are static.
FROM scratch
COPY --from=build /root-of-image /
COPY --from=build /rollcall-agent /rollcall-agent
COPY deploy/licences/agent.txt /licences.txt
USER 65532:65532
ENTRYPOINT ["/rollcall-agent"]
