package rollout

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// inputs draws the inputs of the state machine. It finds the fields of Case by itself, so that a
// new field is drawn, too. It reports a field whose kind it does not know.
type inputs struct {
	draw   Case
	claims []model.Claim
	fields []input
}

// input is one field that is or is not set.
type input struct {
	name string
	set  func(on bool)
}

func newInputs(t testing.TB) *inputs {
	in := &inputs{claims: claims()}
	if err := in.find("", reflect.ValueOf(&in.draw).Elem()); err != nil {
		t.Fatal(err)
	}
	return in
}

func (in *inputs) find(prefix string, of reflect.Value) error {
	for i := range of.NumField() {
		field, name := of.Field(i), prefix+of.Type().Field(i).Name
		some := reflect.New(field.Type()).Elem()
		switch field.Interface().(type) {
		case model.Claim, PodPresence:
			continue
		}
		switch field.Kind() {
		case reflect.Bool:
			flag := field.Addr().Interface().(*bool)
			in.fields = append(in.fields, input{name, func(on bool) { *flag = on }})
			continue
		case reflect.Uint8:
			in.findValues(name, field)
			continue
		case reflect.String:
			some.SetString("x")
		case reflect.Slice:
			some.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Pointer:
			some.Set(reflect.New(field.Type().Elem()))
		case reflect.Struct:
			if err := in.find(name+".", field); err != nil {
				return err
			}
			continue
		default:
			return fmt.Errorf("%s: it is not known how to draw a %s", name, field.Type())
		}
		in.fields = append(in.fields, input{name, func(on bool) {
			if on {
				field.Set(some)
			} else {
				field.SetZero()
			}
		}})
	}
	return nil
}

// findValues adds a draw for each value of an enum. The last one that is set counts.
func (in *inputs) findValues(name string, field reflect.Value) {
	last := map[reflect.Type]uint64{reflect.TypeFor[GuardState](): uint64(RemovalAccepted), reflect.TypeFor[Drained](): uint64(DrainNotNeeded)}[field.Type()]
	for value := uint64(1); value <= last; value++ {
		in.fields = append(in.fields, input{fmt.Sprint(name, value), func(on bool) {
			switch {
			case on:
				field.SetUint(value)
			case value == 1:
				field.SetZero()
			}
		}})
	}
}

// claims are all claims that the state machine may be given: whatever is done to the pod, however
// it is drained, and whatever is recorded so far.
func claims() []model.Claim {
	var all []model.Claim
	for _, action := range []model.Action{"", model.ActionRestart, model.ActionRemove, model.ActionReplace} {
		for _, prepare := range []model.Prepare{"", model.PrepareNone, model.PrepareHandoff, model.PrepareEvacuate} {
			if action == model.ActionReplace && prepare != model.PrepareEvacuate {
				continue // a replacement is always after Evacuate
			}
			for written := range 8 {
				undo, volumes, empty := written&1 != 0, written&2 != 0, written&4 != 0
				c := model.Claim{ID: "c", Action: action, Prepare: prepare}
				if undo && !needsDrain(c) || (volumes || empty) && action != model.ActionReplace {
					continue
				}
				if undo {
					c.Undo = []byte("u")
				}
				if volumes {
					c.Volumes = []model.VolumeClaim{{Name: "v", UID: "1"}}
				}
				if empty {
					c.EmptiedAt = &model.Time{}
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// make makes a case in which the drawn fields are set.
func (in *inputs) make(d drawn) Case {
	in.draw.Claim, in.draw.Pod = d.claim, d.pod
	for i := range in.fields {
		in.fields[i].set(d.set>>i&1 != 0)
	}
	c := in.draw
	c.Held = c.Held || c.Suspended // as caseOf guarantees
	return c
}

// drawn is a case before it is made.
type drawn struct {
	claim model.Claim
	pod   PodPresence
	set   uint64
}

// all visits n cases: every other one at random, the rest a few fields away from one that has led
// to a move, each move as often as any other, because some moves need so much that chance alone
// hardly leads there. It returns how often each field was set and each move was made, and which
// fields have decided one.
func (in *inputs) all(n int, visit func(Case)) met {
	random := rand.New(rand.NewPCG(1, 2))
	m := met{set: map[string]int{}, decided: map[string]int{}, moves: map[Move]int{}}
	var set [64]int
	var seen [MoveRelease + 1][]drawn
	for i := range n {
		d := drawn{in.claims[random.IntN(len(in.claims))], PodPresence(random.IntN(4)), random.Uint64()}
		if known := seen[random.IntN(len(seen))]; i%2 == 0 && len(known) > 0 {
			d = known[random.IntN(len(known))]
			for range random.IntN(4) {
				d.set ^= 1 << random.IntN(len(in.fields))
			}
		}
		c := in.make(d)
		visit(c)
		move := next(c)
		m.moves[move]++
		if known := &seen[move]; len(*known) < 64 {
			*known = append(*known, d)
		} else {
			(*known)[random.IntN(64)] = d
		}
		for left := d.set; left != 0; left &= left - 1 {
			set[bits.TrailingZeros64(left)]++
		}
		flip := random.IntN(len(in.fields))
		d.set ^= 1 << flip
		if next(in.make(d)) != move {
			m.decided[in.fields[flip].name]++
		}
	}
	for i := range in.fields {
		m.set[in.fields[i].name] = set[i]
	}
	return m
}

// met is what was drawn, and the results.
type met struct {
	set, decided map[string]int
	moves        map[Move]int
}

// simplest removes from a case everything that is not needed to break a promise.
func simplest(c Case, breach func(Case) string) Case {
	for again := true; again; {
		again = false
		for _, heard := range []bool{false, true} {
			of := reflect.ValueOf(&c).Elem()
			if heard {
				of = reflect.ValueOf(&c.Known).Elem()
			}
			for _, field := range of.Fields() {
				if field.Kind() == reflect.Struct || field.Type() == reflect.TypeFor[PodPresence]() || field.IsZero() {
					continue
				}
				was := reflect.ValueOf(field.Interface())
				field.SetZero()
				if breach(c) == "" {
					field.Set(was)
				} else {
					again = true
				}
			}
		}
	}
	return c
}
