package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// keys are the certificate and the authorities of now. A connection is judged by
// what was there when it was made.
type keys struct {
	current atomic.Pointer[tls.Config]
}

func (k *keys) set(certificate *tls.Certificate, clients *x509.CertPool) {
	k.current.Store(&tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{*certificate},
		ClientAuth:             tls.RequireAndVerifyClientCert,
		ClientCAs:              clients,
		NextProtos:             []string{"h2"},
		SessionTicketsDisabled: true, // a resumed session would outlive its authority
	})
}

func (k *keys) loaded() bool { return k.current.Load() != nil }

// server answers credentials that follow every change of the keys.
func (k *keys) server() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			if c := k.current.Load(); c != nil {
				return c, nil
			}
			return nil, errors.New("no certificate yet")
		},
	})
}

// orderMethods change something and need the role coordinator. Everything else
// that is served, health and reflection too, needs reader or coordinator.
var orderMethods = []string{
	rollcallv1.AgentService_Prepare_FullMethodName,
	rollcallv1.AgentService_Restore_FullMethodName,
	rollcallv1.AgentService_Relieve_FullMethodName,
}

func authorize(ctx context.Context, method string) error {
	roles := rolesOf(ctx)
	needed := []string{config.RoleCoordinator}
	if !slices.Contains(orderMethods, method) {
		needed = append(needed, config.RoleReader)
	}
	for _, role := range needed {
		if slices.Contains(roles, role) {
			return nil
		}
	}
	return refusal(codes.PermissionDenied, ReasonRole, map[string]string{"needed": strings.Join(needed, ",")},
		"%s needs a client certificate with the URI name %s%s", method, config.RolePrefix, strings.Join(needed, " or "))
}

// rolesOf reads the roles of a verified client certificate.
func rolesOf(ctx context.Context) []string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return nil
	}
	var roles []string
	for _, uri := range info.State.VerifiedChains[0][0].URIs {
		if role, ok := strings.CutPrefix(uri.String(), config.RolePrefix); ok {
			roles = append(roles, role)
		}
	}
	return roles
}

func unaryAccess(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := authorize(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

func streamAccess(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := authorize(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handler(server, stream)
}
