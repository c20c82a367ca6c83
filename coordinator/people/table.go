package people

import "maps"

// table has a value for each key, and never more than maxAddresses: if there would be more, idle
// ones make room. The zero value is ready.
type table[V any] map[string]V

// of returns the value of a key, and creates it if there is none. It returns false if there are too
// many.
func (t *table[V]) of(key string, fresh func() V, idle func(V) bool) (value V, ok bool) {
	if value, ok = (*t)[key]; ok {
		return value, true
	}
	if len(*t) >= maxAddresses {
		maps.DeleteFunc(*t, func(_ string, v V) bool { return idle(v) })
	}
	if len(*t) >= maxAddresses {
		return value, false
	}
	if *t == nil {
		*t = table[V]{}
	}
	value = fresh()
	(*t)[key] = value
	return value, true
}
