# The agent: docker build -f deploy/docker/agent.Dockerfile -t rollcall-dev/agent:dev .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -tags grpcnotrace,nethttpomithttp2 -gcflags=all=-l -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X main.version=$VERSION -funcalign=16" -o /rollcall-agent ./cmd/rollcall-agent

FROM gcr.io/distroless/static:nonroot
COPY --from=build /rollcall-agent /rollcall-agent
COPY deploy/licences/agent.txt /licences.txt
USER 65532:65532
ENTRYPOINT ["/rollcall-agent"]
