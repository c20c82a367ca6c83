package wire

import (
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Reason is why a message is refused, for the counter.
type Reason string

const (
	Size      Reason = "size"          // more bytes than such a message has
	Count     Reason = "count"         // more items of a field than possible, or too long a field
	Hollow    Reason = "amplification" // it would be much larger in memory
	Malformed Reason = "malformed"     // not a message of this kind
)

// Reasons are all reasons.
var Reasons = []Reason{Size, Count, Hollow, Malformed}

// Refusal is a message that is not decoded.
type Refusal struct {
	Reason Reason
	Text   string
}

func (r *Refusal) Error() string {
	return "its message is refused (" + string(r.Reason) + "): " + r.Text
}

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}

// Decode decodes what Check accepts. It drops fields that this version does not know.
func Decode(data []byte, into proto.Message) *Refusal {
	if refusal := Check(data, into); refusal != nil {
		return refusal
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, into); err != nil {
		return refuse(Malformed, "%v", err)
	}
	return nil
}

// Check says why a message is not to be decoded into into. It returns nil if it may be. A message
// that passes takes at most inflation times its bytes of memory, plus slack. Check itself takes no
// memory that grows with the message.
func Check(data []byte, into proto.Message) *Refusal {
	cost, refusal := weigh(data, into)
	if refusal == nil && cost > inflation*len(data)+slack {
		return refuse(Hollow, "%d bytes that would take %d of memory", len(data), cost)
	}
	return refusal
}

// Fits is the part of Check that needs no bytes.
func Fits(bytes int, into proto.Message) *Refusal {
	if most := boundsOf(into).bytes; bytes > most {
		return refuse(Size, "%d bytes, where at most %d are taken", bytes, most)
	}
	return nil
}

// weigh returns the most that decoding allocates.
func weigh(data []byte, into proto.Message) (cost int, refusal *Refusal) {
	limits := boundsOf(into)
	if refusal := Fits(len(data), into); refusal != nil {
		return 0, refusal
	}
	s := shapeOf(into.ProtoReflect().Descriptor())
	c := check{limits: limits, counts: map[*field]int{}, cost: s.size}
	refusal = c.message(s, data)
	return c.cost, refusal
}

type check struct {
	limits bounds
	counts map[*field]int
	// cost is what decoding will allocate, in bytes.
	cost int
}

// shape is how much memory a kind of message takes, and for which fields.
type shape struct {
	size   int
	fields map[protowire.Number]*field
}

type field struct {
	name     string
	repeated bool
	inner    *shape // of messages
}

// For a slice that grows by appending, each item has been copied four times at most, on average: Go
// grows long slices by a quarter each time.
const (
	pointer = 5 * 8
	text    = 5 * 16
)

func (c *check) message(s *shape, data []byte) *Refusal {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return refuse(Malformed, "%v", protowire.ParseError(n))
		}
		data = data[n:]
		f := s.fields[number]
		if kind != protowire.BytesType || f == nil {
			// No message has groups. Skipping a deep one takes a deep stack.
			if kind == protowire.StartGroupType || kind == protowire.EndGroupType {
				return refuse(Malformed, "a group, which no message has")
			}
			n = protowire.ConsumeFieldValue(number, kind, data)
			if n < 0 {
				return refuse(Malformed, "%v", protowire.ParseError(n))
			}
			data = data[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(data)
		if n < 0 {
			return refuse(Malformed, "%v", protowire.ParseError(n))
		}
		data = data[n:]
		if refusal := c.field(f, value); refusal != nil {
			return refusal
		}
	}
	return nil
}

func (c *check) field(f *field, value []byte) *Refusal {
	if most := c.limits.lengths[f.name]; most > 0 && len(value) > most {
		return refuse(Count, "%s of %d bytes, where at most %d are taken", f.name, len(value), most)
	}
	if most := c.limits.counts[f.name]; most > 0 {
		if c.counts[f]++; c.counts[f] > most {
			return refuse(Count, "more than %d of %s", most, f.name)
		}
	}
	if f.inner == nil {
		c.cost += allocated(len(value))
		if f.repeated {
			c.cost += text
		}
		return nil
	}
	c.cost += f.inner.size
	if f.repeated {
		c.cost += pointer
	}
	return c.message(f.inner, value)
}

// allocated returns the most that the runtime takes for so many bytes: its size classes differ by
// at most a quarter, the first by 16.
func allocated(n int) int {
	if n == 0 {
		return 0
	}
	return n + n/4 + 16
}

var shapes sync.Map // protoreflect.FullName -> *shape

// shapeOf is computed once for each kind of message. None contains itself.
func shapeOf(d protoreflect.MessageDescriptor) *shape {
	if s, ok := shapes.Load(d.FullName()); ok {
		return s.(*shape)
	}
	s := &shape{size: sizeOf(d), fields: map[protowire.Number]*field{}}
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		f := &field{name: string(fd.FullName()), repeated: fd.IsList()}
		switch fd.Kind() {
		case protoreflect.MessageKind:
			f.inner = shapeOf(fd.Message())
		case protoreflect.StringKind, protoreflect.BytesKind:
		default:
			continue
		}
		s.fields[fd.Number()] = f
	}
	actual, _ := shapes.LoadOrStore(d.FullName(), s)
	return actual.(*shape)
}

func sizeOf(d protoreflect.MessageDescriptor) int {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic("agents/wire: " + err.Error()) // it is linked in
	}
	return allocated(int(reflect.TypeOf(t.Zero().Interface()).Elem().Size()))
}
