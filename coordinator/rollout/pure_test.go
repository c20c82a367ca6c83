package rollout

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Step is a function of its arguments: equal arguments give equal results, and none of them is
// changed. Earlier results are not changed either.
func TestStepIsPure(t *testing.T) {
	kinds := map[string]int{}
	edits := map[string]int{}
	for seed := range uint64(100) {
		w := newRandomWorld(rand.New(rand.NewPCG(1, seed)))
		state := NewState(1, Before{LastProgress: w.now})
		var earlier []saved
		for turn := range 60 {
			facts, results := w.facts(), w.results()
			earlier = append(earlier, keep(state), keep(facts), keep(results))
			next, d := Step(state, facts, results, w.now)
			again, same := Step(state, facts, results, w.now)
			require.Equal(t, dump(next), dump(again), "seed %d", seed)
			require.Equal(t, dump(d), dump(same), "seed %d", seed)
			d.NameClaims(&next, w.newID)
			earlier = append(earlier, keep(d))
			if turn%6 == 5 {
				for _, k := range earlier {
					k.requireUnchanged(t, seed)
				}
				earlier = earlier[len(earlier)-8:]
			}
			for _, e := range d.Effects {
				kinds[e.Kind()]++
			}
			count(edits, d.Edits)
			if d.Superseded {
				state = NewState(1, Before{LastProgress: w.now})
				continue
			}
			state = next
			w.goOn(d)
		}
	}
	for _, e := range []effect.Effect{effect.PlanDrain{}, effect.Drain{}, effect.HandoffOnBehalf{}, effect.Observe{}, effect.OpenGuard{}, effect.Evict{}, effect.CloseGuard{}, effect.Restore{}, effect.ConfirmGone{}, effect.FindSet{},
		effect.FindVolumes{}, effect.DeleteVolumes{}, effect.AwaitVolumes{}, effect.MovePartition{}, effect.RestoreSetting{}, effect.RestorePending{}, effect.DeleteByForce{}, effect.LabelRoles{}} {
		require.Positive(t, kinds[e.Kind()], "%s in %v", e.Kind(), kinds)
	}
	for field := range reflect.TypeFor[Edits]().Fields() {
		require.Positive(t, edits[field.Name], "%s in %v", field.Name, edits)
	}
}

// count counts the kinds of edits.
func count(seen map[string]int, edits Edits) {
	v := reflect.ValueOf(edits)
	for i := range v.NumField() {
		if v.Field(i).Len() > 0 {
			seen[v.Type().Field(i).Name]++
		}
	}
}

// saved is a value, and its dump at the time when it was saved.
type saved struct {
	value any
	was   string
}

func keep(value any) saved { return saved{value, dump(value)} }

func (k saved) requireUnchanged(t *testing.T, seed uint64) {
	t.Helper()
	if is := dump(k.value); is != k.was {
		require.Equal(t, k.was, is, "%T, seed %d", k.value, seed)
	}
}

// dump returns a value with everything that its pointers point to.
func dump(value any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(value))
	return b.String()
}

func write(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		b.WriteString("nil")
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		if v.Kind() == reflect.Interface {
			b.WriteString(v.Elem().Type().String())
		}
		write(b, v.Elem())
	case reflect.Struct:
		b.WriteByte('{')
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "loc" { // of a time
				b.WriteString(name + ":")
				write(b, v.Field(i))
				b.WriteByte('\n')
			}
		}
		b.WriteByte('}')
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		for i := range v.Len() {
			write(b, v.Index(i))
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case reflect.Map:
		var entries []string
		for it := v.MapRange(); it.Next(); {
			var entry strings.Builder
			write(&entry, it.Key())
			entry.WriteByte(':')
			write(&entry, it.Value())
			entries = append(entries, entry.String())
		}
		slices.Sort(entries)
		b.WriteString("map" + fmt.Sprint(entries))
	case reflect.Bool:
		fmt.Fprint(b, v.Bool())
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		switch {
		case v.CanInt():
			fmt.Fprint(b, v.Int())
		case v.CanUint():
			fmt.Fprint(b, v.Uint())
		case v.CanFloat():
			fmt.Fprint(b, v.Float())
		default:
			b.WriteString(v.Type().String())
		}
	}
}
