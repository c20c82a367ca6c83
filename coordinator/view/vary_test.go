package view

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// difference is one by which an input can differ from another.
type difference struct {
	name  string
	apply func()
}

// every difference that reports, rosters and objects can have in one field.
func every(in *Input) []difference {
	var all []difference
	for i := range 3 {
		if received, known := in.Agents.Reports[fmt.Sprintf("u%d", i)]; known {
			all = append(all, differences(received.Report.ProtoReflect())...)
		}
	}
	for _, r := range in.Agents.Rosters {
		all = append(all, differences(r.Roster.ProtoReflect())...)
	}
	for i := range in.Kube.Pods {
		pod := reflect.ValueOf(&in.Kube.Pods[i]).Elem()
		for f := range pod.NumField() {
			all = append(all, difference{"Pod." + pod.Type().Field(f).Name, func() { varyField(pod, f, noon) }})
		}
	}
	pool := reflect.ValueOf(&in.Kube.Pools[0]).Elem()
	for f := range pool.NumField() {
		all = append(all, difference{"Pool." + pool.Type().Field(f).Name, func() { varyField(pool, f, noon) }})
	}
	for _, name := range slices.Sorted(maps.Keys(in.Kube.Nodes)) {
		all = append(all, nodeDifferences(in, name)...)
	}
	return all
}

// nodeDifferences are those of one node: in each field, in the fields of each taint, and in the label that is its zone.
func nodeDifferences(in *Input, name string) []difference {
	var all []difference
	add := func(field string, change func(*kube.Node)) {
		all = append(all, difference{"Node." + field, func() {
			node := in.Kube.Nodes[name]
			node.Labels, node.Taints = maps.Clone(node.Labels), slices.Clone(node.Taints)
			change(&node)
			in.Kube.Nodes[name] = node
		}})
	}
	for f := range reflect.TypeFor[kube.Node]().NumField() {
		add(reflect.TypeFor[kube.Node]().Field(f).Name, func(n *kube.Node) { varyField(reflect.ValueOf(n).Elem(), f, noon) })
	}
	for i := range in.Kube.Nodes[name].Taints {
		for f := range reflect.TypeFor[kube.Taint]().NumField() {
			add("Taint."+reflect.TypeFor[kube.Taint]().Field(f).Name, func(n *kube.Node) { varyField(reflect.ValueOf(&n.Taints[i]).Elem(), f, noon.Add(-time.Minute)) })
		}
	}
	return all
}

// differences of a message in one of its fields, and of the messages in it.
func differences(m protoreflect.Message) []difference {
	var all []difference
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		set := func(v protoreflect.Value) {
			all = append(all, difference{string(f.FullName()), func() { m.Set(f, v) }})
		}
		switch {
		case f.IsList():
			list := m.Get(f).List()
			if n := list.Len(); n > 0 {
				all = append(all, difference{"fewer " + string(f.FullName()), func() { m.Mutable(f).List().Truncate(n - 1) }})
			}
			if f.Message() == nil {
				all = append(all, difference{"more " + string(f.FullName()), func() { m.Mutable(f).List().Append(protoreflect.ValueOfString("x")) }})
				continue
			}
			for j := range list.Len() {
				all = append(all, differences(list.Get(j).Message())...)
			}
		case f.Message() != nil:
			part := m.NewField(f).Message()
			if m.Has(f) {
				part = m.Get(f).Message()
			}
			for _, d := range differences(part) {
				all = append(all, difference{d.name, func() { d.apply(); m.Set(f, protoreflect.ValueOfMessage(part)) }})
			}
		case f.Kind() == protoreflect.EnumKind:
			for v := range f.Enum().Values().Len() {
				set(protoreflect.ValueOfEnum(f.Enum().Values().Get(v).Number()))
			}
		default:
			set(another(f, m.Get(f)))
		}
	}
	return all
}

// change has something happen to an input: time, a look of one agent, or another
// value in any field of anything. What an object of Kubernetes holds changes with
// its resourceVersion only.
func change(r *rand.Rand, in *Input) string {
	i := r.IntN(3)
	uid := fmt.Sprintf("u%d", i)
	received, known := in.Agents.Reports[uid]
	switch r.IntN(6) {
	case 0:
		by := time.Duration(r.IntN(20_000)) * time.Millisecond
		in.Now = in.Now.Add(by)
		return "later by " + by.String()
	case 1:
		at := noon.Add(time.Duration(r.IntN(4000)-3000) * time.Millisecond)
		if known {
			observedAt(i, at)(in)
		}
		return "looked at " + at.String()
	case 2:
		if known {
			return disturb(r, received.Report.ProtoReflect())
		}
	case 3:
		if len(in.Agents.Rosters) > 0 {
			return disturb(r, in.Agents.Rosters[0].Roster.ProtoReflect())
		}
	case 4:
		if len(in.Kube.Pods) > i {
			return vary(r, reflect.ValueOf(&in.Kube.Pods[i]).Elem())
		}
	case 5:
		return vary(r, reflect.ValueOf(&in.Kube.Pools[0]).Elem())
	}
	return "nothing"
}

// disturb changes a field of a message, or of one in it.
func disturb(r *rand.Rand, m protoreflect.Message) string {
	fields := m.Descriptor().Fields()
	f := fields.Get(r.IntN(fields.Len()))
	name := string(f.FullName())
	switch {
	case f.IsList() && f.Message() != nil:
		if list := m.Mutable(f).List(); list.Len() > 0 {
			return disturb(r, list.Get(r.IntN(list.Len())).Message())
		}
	case f.IsList():
		m.Mutable(f).List().Append(protoreflect.ValueOfString("x"))
	case f.Message() != nil:
		return disturb(r, m.Mutable(f).Message())
	case f.Kind() == protoreflect.EnumKind:
		m.Set(f, protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(f.Enum().Values().Len()))))
	default:
		m.Set(f, another(f, m.Get(f)))
	}
	return name
}

// another value of a field.
func another(f protoreflect.FieldDescriptor, v protoreflect.Value) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(!v.Bool())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(v.String() + "x")
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(0.5)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(v.Int()) + 1)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(v.Int() + 1)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(v.Uint() + 1)
	}
	return v
}

// vary changes an exported field of an object.
func vary(r *rand.Rand, object reflect.Value) string {
	return varyField(object, r.IntN(object.NumField()), noon.Add(time.Duration(r.IntN(300)-150)*time.Second))
}

// varyField changes one field, if it is exported; a time to at.
func varyField(object reflect.Value, i int, at time.Time) string {
	field := object.Type().Field(i)
	v := object.FieldByIndex(field.Index)
	switch {
	case !field.IsExported():
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "x")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(at))
	case v.Type() == reflect.TypeFor[map[string]string](): // of a node: another zone
		labels := maps.Clone(v.Interface().(map[string]string))
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1.LabelTopologyZone] += "x"
		v.Set(reflect.ValueOf(labels))
	case v.Kind() == reflect.Slice && v.Len() > 0: // one less
		v.Set(v.Slice(0, v.Len()-1))
	case v.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	}
	return object.Type().Name() + "." + field.Name
}
