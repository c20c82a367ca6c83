package people

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Every method that there is says whom it is for; a new one is closed, and this
// test wants it declared.
func TestEveryMethodHasAnAudience(t *testing.T) {
	seen := map[string]bool{}
	each := func(service protoreflect.ServiceDescriptor) {
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			name := "/" + string(service.FullName()) + "/" + string(method.Name())
			seen[name] = true
			audience, declared := audiences[name]
			require.True(t, declared, "%s: declare whom it is for", name)
			if audience == Asker || audience == Lister {
				require.Equal(t, rollcallv1.CoordinatorService_ServiceDesc.ServiceName, string(service.FullName()), "people call the coordinator's service alone")
				require.NotNil(t, method.Input().Fields().ByName("namespace"), "%s: people are let in by namespace", name)
				require.False(t, method.IsStreamingClient(), "%s: people send one request", name)
			}
		}
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if p := string(file.Package()); p == "rollcall.v1" || strings.HasPrefix(p, "grpc.health.") || strings.HasPrefix(p, "grpc.reflection.") {
			for i := range file.Services().Len() {
				each(file.Services().Get(i))
			}
		}
		return true
	})
	for name := range audiences {
		if !strings.HasPrefix(name, "/grpc.reflection.v1alpha.") { // registered by the server's package alone
			require.True(t, seen[name], "%s: there is no such method", name)
		}
	}
	_, err := new(Gate).enter(t.Context(), "/rollcall.v1.CoordinatorService/Invented")
	requireCode(t, codes.PermissionDenied, err, "not open to anybody")
}
