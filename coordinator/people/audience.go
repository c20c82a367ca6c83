package people

import (
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Audience says who may call a method.
type Audience int

// The audiences. The zero value is that of methods without a declaration.
const (
	// Nobody may call it here.
	Nobody Audience = iota
	// Certificates means callers with the role of a coordinator or reader.
	Certificates
	// Asker also means a person who may get DatabaseClusters in the namespace of the request.
	Asker
	// Lister also means any person; the answer has what they may list.
	Lister
)

// audiences are those of all methods. Agents' methods are served by agents; they are listed here so
// that a coordinator never serves them by mistake.
var audiences = map[string]Audience{
	rollcallv1.CoordinatorService_ListClusters_FullMethodName: Lister,
	rollcallv1.CoordinatorService_GetCluster_FullMethodName:   Asker,
	rollcallv1.CoordinatorService_GetPlan_FullMethodName:      Asker,
	rollcallv1.CoordinatorService_Explain_FullMethodName:      Asker,
	rollcallv1.CoordinatorService_WatchCluster_FullMethodName: Asker,
	rollcallv1.CoordinatorService_GetSnapshot_FullMethodName:  Asker,
	rollcallv1.CoordinatorService_ListJournal_FullMethodName:  Asker,

	grpc_health_v1.Health_Check_FullMethodName:                        Certificates,
	grpc_health_v1.Health_List_FullMethodName:                         Certificates,
	grpc_health_v1.Health_Watch_FullMethodName:                        Certificates,
	reflectionv1.ServerReflection_ServerReflectionInfo_FullMethodName: Certificates,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo":  Certificates,

	rollcallv1.AgentService_GetReport_FullMethodName:       Nobody,
	rollcallv1.AgentService_WatchReport_FullMethodName:     Nobody,
	rollcallv1.AgentService_GetRoster_FullMethodName:       Nobody,
	rollcallv1.AgentService_WatchRoster_FullMethodName:     Nobody,
	rollcallv1.AgentService_PlanDrain_FullMethodName:       Nobody,
	rollcallv1.AgentService_Drain_FullMethodName:           Nobody,
	rollcallv1.AgentService_Restore_FullMethodName:         Nobody,
	rollcallv1.AgentService_RestoreSetting_FullMethodName:  Nobody,
	rollcallv1.AgentService_HandoffOnBehalf_FullMethodName: Nobody,
	rollcallv1.PeerService_Look_FullMethodName:             Nobody,
	rollcallv1.PeerService_Step_FullMethodName:             Nobody,
}
