package gossip

import "encoding/binary"

// The types of memberlist's messages, as far as agents send them.
const (
	messagePing         = 0
	messageIndirectPing = 1
	messageAck          = 2
	messageSuspect      = 3
	messageAlive        = 4
	messageDead         = 5
	messageExchange     = 6 // memberlist calls it push/pull
	messageCompound     = 7
	messageCompressed   = 9
	messageEncrypted    = 10
	messageNack         = 11
	messageChecksum     = 12
	messageError        = 13
	messageLabel        = 244
)

const (
	// maxNodes bounds the nodes of an exchange: the roster, and as many again that died and that
	// memberlist still has: it forgets them after a round of probes, a second for each.
	maxNodes = 2 * maxEntries
	// maxState is the size of an exchange: each entry of a full roster has 512 bytes of metadata, a
	// name of at most 262, an address, and the names of the fields, less than 1 KiB in all. Those
	// of agents have about 300 bytes, so all that maxNodes admits fits, too.
	maxState = maxEntries << 10
	// maxMessage is the size of any other message. memberlist fills packets up to 1,400 bytes.
	maxMessage = 2 << 10
	// maxUserState bounds the user state. Agents send one byte, see LocalState.
	maxUserState = 64
	// nodeVersions is the number of protocol versions of each node.
	nodeVersions = 6
)

// checkStream returns why a decrypted message of a stream is refused, or "". Only what agents send
// passes: memberlist makes room for as many nodes and bytes as a message claims, decompresses up to
// 40 MiB, and panics at one that is empty.
func checkStream(b []byte) reason {
	if len(b) == 0 {
		return reasonContent
	}
	kind, rest := b[0], b[1:]
	switch kind {
	case messageExchange:
		return checkExchange(rest)
	case messagePing, messageAck, messageError:
		if len(b) > maxMessage {
			return reasonSize
		}
		return checkFlat(rest, kind)
	case messageCompressed:
		return reasonCompressed
	}
	return reasonContent
}

// checkPacket is checkStream for packets.
func checkPacket(b []byte) reason {
	switch {
	case len(b) > maxMessage:
		return reasonSize
	case len(b) > 5 && b[0] == messageChecksum: // memberlist compares the sum
		b = b[5:]
	}
	if len(b) > 1 && b[0] == messageCompound {
		return checkCompound(b[1:])
	}
	return checkSingle(b)
}

// indirectPings returns the number of indirect pings in a packet that checkPacket has passed.
func indirectPings(b []byte) (n int) {
	if len(b) > 5 && b[0] == messageChecksum {
		b = b[5:]
	}
	if b[0] != messageCompound {
		if b[0] == messageIndirectPing {
			n = 1
		}
		return n
	}
	parts := int(b[1])
	lengths, rest := b[2:2+2*parts], b[2+2*parts:]
	for ; len(lengths) > 0; lengths = lengths[2:] {
		size := int(binary.BigEndian.Uint16(lengths))
		if rest[0] == messageIndirectPing {
			n++
		}
		rest = rest[size:]
	}
	return n
}

func checkSingle(b []byte) reason {
	if len(b) == 0 {
		return reasonContent
	}
	switch b[0] {
	case messagePing, messageIndirectPing, messageAck, messageNack, messageSuspect, messageAlive, messageDead:
		return checkFlat(b[1:], b[0])
	case messageCompressed:
		return reasonCompressed
	}
	return reasonContent
}

// checkCompound checks a compound: a number, as many lengths of two bytes, and the messages, none
// of which is a compound itself.
func checkCompound(b []byte) reason {
	parts := int(b[0])
	if len(b) < 1+2*parts {
		return reasonContent
	}
	lengths, rest := b[1:1+2*parts], b[1+2*parts:]
	for ; len(lengths) > 0; lengths = lengths[2:] {
		size := int(binary.BigEndian.Uint16(lengths))
		if size > len(rest) {
			return reasonContent
		}
		if why := checkSingle(rest[:size]); why != "" {
			return why
		}
		rest = rest[size:]
	}
	if len(rest) > 0 {
		return reasonContent
	}
	return ""
}

// checkExchange checks an exchange: a header that says how many nodes and bytes of state follow,
// and exactly those.
func checkExchange(b []byte) reason {
	var nodes, state uint64
	rest, ok := flat(b, func(key []byte, v scalar) bool {
		switch string(key) {
		case "Nodes":
			nodes = max(nodes, v.number)
		case "UserStateLen":
			state = max(state, v.number)
		}
		return !v.negative
	})
	switch {
	case !ok:
		return reasonContent
	case nodes > maxNodes || state > maxUserState:
		return reasonSize
	}
	for range nodes {
		if rest, ok = checkNode(rest); !ok {
			return reasonContent
		}
	}
	if uint64(len(rest)) != state {
		return reasonContent
	}
	return ""
}

func checkFlat(b []byte, kind byte) reason {
	var ok bool
	if kind == messageAlive {
		b, ok = checkNode(b)
	} else {
		b, ok = flat(b, func([]byte, scalar) bool { return true })
	}
	if !ok || len(b) > 0 {
		return reasonContent
	}
	return ""
}

// checkNode checks a node of an exchange or of an alive message.
func checkNode(b []byte) ([]byte, bool) {
	versions := false
	rest, ok := flat(b, func(key []byte, v scalar) bool {
		switch string(key) {
		case "Vsn":
			versions = len(v.text) == nodeVersions
			return versions
		case "Addr":
			return len(v.text) == 4 || len(v.text) == 16
		case "Meta":
			return len(v.text) <= MaxMeta
		}
		return true
	})
	return rest, ok && versions
}

// scalar is a value of a field. number is of integers, text of strings and bytes.
type scalar struct {
	number   uint64
	negative bool
	text     []byte
}

// flat reads a map of msgpack whose values are scalars; memberlist has no others. It returns what
// follows. It allocates nothing, and believes no length that is longer than what is there.
func flat(b []byte, field func(key []byte, v scalar) bool) ([]byte, bool) {
	if len(b) == 0 {
		return nil, false
	}
	var fields int
	switch first := b[0]; {
	case first&0xf0 == 0x80:
		fields, b = int(first&0x0f), b[1:]
	case first == 0xde && len(b) >= 3:
		fields, b = int(binary.BigEndian.Uint16(b[1:])), b[3:]
	default:
		return nil, false
	}
	for range fields {
		key, rest, ok := value(b)
		if !ok || key.text == nil {
			return nil, false
		}
		v, rest, ok := value(rest)
		if !ok || !field(key.text, v) {
			return nil, false
		}
		b = rest
	}
	return b, true
}

// value reads nil, a boolean, an integer, a string or bytes.
func value(b []byte) (v scalar, rest []byte, ok bool) {
	if len(b) == 0 {
		return v, nil, false
	}
	first, b := b[0], b[1:]
	number := func(width int) (uint64, bool) {
		if len(b) < width {
			return 0, false
		}
		var n uint64
		for _, c := range b[:width] {
			n = n<<8 | uint64(c)
		}
		b = b[width:]
		return n, true
	}
	size := uint64(0)
	switch {
	case first <= 0x7f:
		return scalar{number: uint64(first)}, b, true
	case first >= 0xe0:
		return scalar{negative: true}, b, true
	case first == 0xc0 || first == 0xc2 || first == 0xc3:
		return v, b, true
	case first >= 0xcc && first <= 0xcf:
		n, ok := number(1 << (first - 0xcc))
		return scalar{number: n}, b, ok
	case first >= 0xd0 && first <= 0xd3:
		width := 1 << (first - 0xd0)
		n, ok := number(width)
		return scalar{number: n, negative: n>>(8*width-1) == 1}, b, ok
	case first&0xe0 == 0xa0:
		size, ok = uint64(first&0x1f), true
	case first >= 0xd9 && first <= 0xdb:
		size, ok = number(1 << (first - 0xd9))
	case first >= 0xc4 && first <= 0xc6:
		size, ok = number(1 << (first - 0xc4))
	}
	if !ok || size > uint64(len(b)) {
		return v, nil, false
	}
	return scalar{text: b[:size:size]}, b[size:], true
}
