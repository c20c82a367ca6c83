package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestSameHeadlineComparesEveryField checks that a change of any field of a headline is announced,
// also of one that is added later.
func TestSameHeadlineComparesEveryField(t *testing.T) {
	was := &rollcallv1.Headline{Roles: []string{"overseer"}}
	require.True(t, sameHeadline(was, proto.CloneOf(was)))
	fields := was.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		is := proto.CloneOf(was)
		m := is.ProtoReflect()
		switch {
		case field.IsList():
			m.Mutable(field).List().Append(protoreflect.ValueOfString("data"))
		case field.Kind() == protoreflect.StringKind:
			m.Set(field, protoreflect.ValueOfString("other"))
		case field.Kind() == protoreflect.EnumKind:
			m.Set(field, protoreflect.ValueOfEnum(1))
		case field.Kind() == protoreflect.Uint32Kind:
			m.Set(field, protoreflect.ValueOfUint32(7))
		case field.Kind() == protoreflect.Int64Kind:
			m.Set(field, protoreflect.ValueOfInt64(7))
		case field.Kind() == protoreflect.Uint64Kind || field.Kind() == protoreflect.Fixed64Kind:
			m.Set(field, protoreflect.ValueOfUint64(7))
		default:
			t.Fatalf("field %s is of kind %s, for which this test has no other value", field.Name(), field.Kind())
		}
		require.False(t, sameHeadline(was, is), "field %s", field.Name())
	}
}
