package policy

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// spoil writes something odd into one place of a value, chosen by chance.
func (g generator) spoil(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.NumField() > 0 {
			g.spoil(v.Field(g.IntN(v.NumField())))
		}
	case reflect.Pointer:
		switch {
		case v.IsNil() && v.CanSet():
			v.Set(reflect.New(v.Type().Elem()))
		case g.rarely(4) && v.CanSet():
			v.SetZero()
		default:
			g.spoil(v.Elem())
		}
	case reflect.Slice:
		n := v.Len()
		switch {
		case n == 0:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case g.rarely(6): // one twice
			v.Set(reflect.Append(v, v.Index(g.IntN(n))))
		case g.rarely(8):
			v.SetLen(n - 1)
		default:
			g.spoil(v.Index(g.IntN(n)))
		}
	default:
		g.spoilLeaf(v)
	}
}

func (g generator) spoilLeaf(v reflect.Value) {
	if !v.CanSet() { // the inside of a time
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.String:
		v.SetString(pick(g, "", "*", "\x00\xff", "a-0", "50%", "0%", "999999999999999999999%", "-1"))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(pick[int64](g, math.MinInt32, -1, 0, 1, 100_001, 1_000_001, math.MaxInt32))
	case reflect.Float64:
		v.SetFloat(pick(g, math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, math.MaxFloat64, math.SmallestNonzeroFloat64))
	}
}

// requireNamed: whatever the input, nothing panics; of what makes no sense
// the field is named in the hold of the whole cluster, and nobody goes.
func requireNamed(t testing.TB, s model.Snapshot) {
	t.Helper()
	for i := range s.Pods {
		Recheck(s, s.Pods[i].Name)
		Explain(s, s.Pods[i].Name)
	}
	for _, c := range s.Cluster.Status.Claims {
		Returned(s, c)
	}
	p := Decide(s)
	_ = p.Text()
	problems := model.Validate(&s)
	if len(problems) == 0 {
		requireSound(t, s, p)
		return
	}
	require.Empty(t, p.Steps)
	require.Equal(t, model.RuleBadInput, p.Holds[0].Rule)
	require.NotEmpty(t, problems[0].Field)
	require.Contains(t, p.Holds[0].Reason, problems[0].Field)
}

func TestGarbageIsNamed(t *testing.T) {
	bad := 0
	eachSnapshot(t, func(t *testing.T, g generator, s model.Snapshot) {
		for range 1 + g.IntN(3) {
			g.spoil(reflect.ValueOf(&s).Elem())
		}
		requireNamed(t, s)
		bad += cluster.Count(len(model.Validate(&s)) > 0)
	})
	require.Greater(t, bad, *snapshots/10)
	require.Less(t, bad, *snapshots*9/10)
}

// FuzzGarbage lets the fuzzer choose the snapshot and what is spoilt.
func FuzzGarbage(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint8(3))
	f.Fuzz(func(t *testing.T, seed, spoiler uint64, times uint8) {
		s := newGenerator(seed).snapshot()
		g := generator{Rand: rand.New(rand.NewPCG(spoiler, 5))}
		for range times % 8 {
			g.spoil(reflect.ValueOf(&s).Elem())
		}
		requireNamed(t, s)
	})
}
