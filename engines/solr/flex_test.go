package solr

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFlexTypes(t *testing.T) {
	type row struct {
		S flexString
		N flexInt
		B flexBool
	}
	for in, want := range map[string]row{
		`{"S":"a","N":"5","B":"true"}`:      {"a", 5, true},
		`{"S":7,"N":5,"B":true}`:            {"7", 5, true},
		`{"S":true,"N":-1,"B":false}`:       {"true", -1, false},
		`{"S":null,"N":null,"B":null}`:      {},
		`{"S":"","N":"","B":"yes"}`:         {},
		`{"S":1.5,"N": 12 ,"B":1}`:          {"1.5", 12, false},
		`{"S":"\u0041\"","B":"true","N":0}`: {"A\"", 0, true},
	} {
		var got row
		require.NoError(t, json.Unmarshal([]byte(in), &got), in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{`{"S":{}}`, `{"S":[1]}`, `{"N":"five"}`, `{"N":1.5}`, `{"N":99999999999999999999}`, `{"B":[]}`} {
		require.Error(t, json.Unmarshal([]byte(in), &row{}), in)
	}
}
