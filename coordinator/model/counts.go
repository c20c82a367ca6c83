package model

// PodCounts counts the pods of a database cluster.
type PodCounts struct {
	// desired by all pools together.
	Desired int32 `json:"desired"`
	// current: on a revision other than the update revision.
	Current int32 `json:"current"`
	// updated: on the update revision.
	Updated int32 `json:"updated"`
	// ready, as the kubelet says.
	Ready int32 `json:"ready"`
	// unavailable, for whatever cause.
	Away int32 `json:"unavailable"`
	// failed: broken by themselves.
	Failed int32 `json:"failed"`
}
