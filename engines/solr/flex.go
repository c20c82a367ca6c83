package solr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rollcall-dev/rollcall/engines"
)

// Solr writes the same fact as a string in one place and as a number or boolean
// in another, and differs between versions. The flex types accept all of them.

// flexString accepts a string, a number or a boolean; null is empty.
type flexString string

func (s *flexString) UnmarshalJSON(data []byte) error {
	text, err := scalar(data)
	*s = flexString(text)
	return err
}

// flexInt accepts 5 and "5"; null and "" are 0.
type flexInt int64

func (n *flexInt) UnmarshalJSON(data []byte) error {
	text, err := scalar(data)
	if err != nil || text == "" {
		*n = 0
		return err
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%q: must be a whole number", engines.OneLine(text))
	}
	*n = flexInt(v)
	return nil
}

// flexBool accepts true and "true"; everything else that is scalar is false.
type flexBool bool

func (b *flexBool) UnmarshalJSON(data []byte) error {
	text, err := scalar(data)
	*b = flexBool(text == "true")
	return err
}

func scalar(data []byte) (string, error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return "", errors.New("must be a value")
	case data[0] == '"':
		var s string
		err := json.Unmarshal(data, &s)
		return s, err
	case data[0] == '{' || data[0] == '[':
		return "", errors.New("must be a string, number or boolean")
	case string(data) == "null":
		return "", nil
	default:
		return string(data), nil
	}
}
