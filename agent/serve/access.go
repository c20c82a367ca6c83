package serve

import (
	"context"
	"net"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/trust"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// neededRoles are the roles of which one is needed to call a method. Everything else
// that is served, health and reflection included, is for reading. Only agents ask
// each other for steps; a coordinator orders only what it can undo.
var neededRoles = map[string][]string{
	rollcallv1.AgentService_PlanDrain_FullMethodName:       {config.RoleCoordinator},
	rollcallv1.AgentService_Drain_FullMethodName:           {config.RoleCoordinator},
	rollcallv1.AgentService_Restore_FullMethodName:         {config.RoleCoordinator},
	rollcallv1.AgentService_RestoreSetting_FullMethodName:  {config.RoleCoordinator},
	rollcallv1.AgentService_HandoffOnBehalf_FullMethodName: {config.RoleCoordinator},
	rollcallv1.PeerService_Look_FullMethodName:             {config.RoleCoordinator, config.RoleReader, config.RoleAgent},
	rollcallv1.PeerService_Step_FullMethodName:             {config.RoleAgent},
}

var readingRoles = []string{config.RoleCoordinator, config.RoleReader}

// access decides who may call what. name is that of this database cluster's agents,
// config.ServerName.
type access struct {
	name    string
	keys    *trust.Keys
	callers *callers
}

func (a access) authorize(ctx context.Context, method string) error {
	roles := a.rolesOf(ctx)
	needed, ok := neededRoles[method]
	if !ok {
		needed = readingRoles
	}
	for _, role := range needed {
		if slices.Contains(roles, role) {
			return nil
		}
	}
	err := fence.Refuse(codes.PermissionDenied, fence.ReasonRole, map[string]string{"needed": strings.Join(needed, ",")},
		"%s needs a client certificate with the URI name %s%s", method, config.RolePrefix, strings.Join(needed, " or "))
	var from net.Addr
	if p, ok := peer.FromContext(ctx); ok {
		from = p.Addr
	}
	a.callers.refuse(callerRole, from, err)
	return err
}

// rolesOf returns the roles in a client certificate that the current authorities
// have signed. One authority signs for the agents of all database clusters, and
// another cluster's agent has no role here.
func (a access) rolesOf(ctx context.Context) []string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	return a.rolesShown(p.AuthInfo)
}

func (a access) rolesShown(info credentials.AuthInfo) []string {
	shown := trust.Shown(info)
	if a.keys.Refuses(shown) != nil {
		return nil
	}
	leaf := shown[0]
	var roles []string
	for _, uri := range leaf.URIs {
		role, ok := strings.CutPrefix(uri.String(), config.RolePrefix)
		if ok && (role != config.RoleAgent || slices.Contains(leaf.DNSNames, a.name)) {
			roles = append(roles, role)
		}
	}
	return roles
}

// onlyReads reports whether these roles permit neither orders nor steps.
func onlyReads(roles []string) bool {
	return !slices.ContainsFunc(roles, func(role string) bool { return role != config.RoleReader })
}

func (a access) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := a.authorize(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	// Each of these takes a session of the database, of which a handover needs one.
	if look, ok := request.(*rollcallv1.LookRequest); ok && look.GetFresh() && onlyReads(a.rolesOf(ctx)) {
		return nil, fence.Refuse(codes.PermissionDenied, fence.ReasonRole, map[string]string{"needed": config.RoleAgent},
			"a fresh look needs a client certificate with the URI name %s%s; readers ask without fresh", config.RolePrefix, config.RoleAgent)
	}
	return handler(ctx, request)
}

func (a access) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := a.authorize(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handler(server, stream)
}
