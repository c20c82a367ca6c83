package gossip

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/memberlist"
	"google.golang.org/protobuf/proto"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Metadata of a member is an envelope of ten bytes and an encoded headline: the
// version of the envelope, flags, and a tag of the cluster that is checked
// beside the label, because a label is compared by each receiver for the sender
// of a packet only, while members are also told of by third parties.
const (
	metaVersion  = 1
	tagBytes     = 8
	envelopeSize = 2 + tagBytes

	// flagLeaving is set just before an agent says good-bye. memberlist does not
	// tell its callbacks whether a member that is gone has left or died.
	flagLeaving = 1 << 0

	// MaxMeta is memberlist's limit; more than that would panic.
	MaxMeta = memberlist.MetaMaxSize
)

type tag [tagBytes]byte

// errRejected has the reason that the metric counts.
type errRejected struct {
	reason reason
	detail string
}

func (e errRejected) Error() string { return string(e.reason) + ": " + e.detail }

// encode returns metadata of at most MaxMeta bytes. What does not fit is left out, the least
// important first: roles from the last on, then zone, node, address. Pod, UID and the enums always
// fit, because Kubernetes bounds names to 253 bytes and UIDs to 36.
func encode(t tag, leaving bool, h *rollcallv1.Headline) ([]byte, error) {
	h = proto.CloneOf(h)
	for {
		size := envelopeSize + proto.Size(h)
		if size <= MaxMeta {
			break
		}
		switch {
		case len(h.Roles) > 0:
			h.Roles = h.Roles[:len(h.Roles)-1]
		case h.Zone != "":
			h.Zone = ""
		case h.Node != "":
			h.Node = ""
		case h.Address != "":
			h.Address = ""
		default:
			return nil, fmt.Errorf("headline of pod %.64q needs %d bytes, %d are allowed", h.Pod, size, MaxMeta)
		}
	}
	var flags byte
	if leaving {
		flags |= flagLeaving
	}
	meta := slices.Concat([]byte{metaVersion, flags}, t[:])
	return proto.MarshalOptions{Deterministic: true}.MarshalAppend(meta, h)
}

// decode is the inverse of encode, for bytes that anybody may have written. name
// is the member's name in the gossip and must be that of the headline.
func decode(t tag, name string, meta []byte) (*rollcallv1.Headline, error) {
	switch {
	case len(meta) < envelopeSize:
		return nil, errRejected{reasonMalformed, fmt.Sprintf("metadata of %d bytes", len(meta))}
	case len(meta) > MaxMeta:
		return nil, errRejected{reasonMalformed, fmt.Sprintf("metadata of %d bytes, at most %d are allowed", len(meta), MaxMeta)}
	case meta[0] != metaVersion:
		return nil, errRejected{reasonVersion, fmt.Sprintf("metadata of version %d, this agent knows %d", meta[0], metaVersion)}
	case tag(meta[2:envelopeSize]) != t:
		return nil, errRejected{reasonCluster, "metadata of another database cluster"}
	}
	h := new(rollcallv1.Headline)
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(meta[envelopeSize:], h); err != nil {
		return nil, errRejected{reasonMalformed, "metadata is not a headline"}
	}
	if h.Pod == "" || h.PodUid == "" {
		return nil, errRejected{reasonMalformed, "headline names no pod"}
	}
	if name != memberName(h.Pod, h.PodUid) {
		return nil, errRejected{reasonIdentity, fmt.Sprintf("headline of pod %.64q under the name %.128q", h.Pod, name)}
	}
	return h, nil
}

// leaving reads the flag of metadata that decode has accepted.
func leaving(meta []byte) bool { return meta[1]&flagLeaving != 0 }

// memberName is unique for each life of a pod: a recreated pod is a new member, so it may have
// another address than the pod before it. Probes carry two names each, so the name has only a
// digest of the UID.
func memberName(pod, uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return pod + "/" + hex.EncodeToString(sum[:4])
}

// tagOf returns the tag that separates the database clusters. It is the label, which every packet
// carries authenticated; so it is short.
func tagOf(namespace, cluster, clusterUID string) (tag, error) {
	if namespace == "" || cluster == "" || clusterUID == "" {
		return tag{}, errors.New("namespace, cluster and cluster UID must all be known")
	}
	sum := sha256.Sum256([]byte(namespace + "/" + cluster + "/" + clusterUID))
	return tag(sum[:tagBytes]), nil
}
