package foundationdb

import (
	"fmt"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// refusal is what fdbcli says when it does not do what it is told. (TestRecordedRefusals).
type refusal struct{ command, text string }

// refusals are the texts that are known, by a part of them, with what they mean. One that only a
// person can end refuses the order; all others may end by themselves, and are waited for.
var refusals = []struct {
	sign, words string
	person      bool
}{
	{"(1038)", "somebody has locked the database, and nothing here unlocks it", false},
	{"One of the specified coordinators is unreachable", "each coordinator that stays, and each new one, must answer within 5 s: bring the one back that does not, or replace its pod as well", false},
	{"Coordination servers are not running on", "a process that was to be a coordinator does not answer as one: see whether it runs", false},
	{"Too few fdbserver machines", "there are too few machines for the coordinators that the redundancy mode asks for: add processes", true},
	{"The specified network addresses are invalid", "fdbcli cannot read the coordinators by name: they must be host:port, and names need version 7.1 or later", true},
	{"might be unsafe", "a person has to look at the coordinators before any of them changes", true},
	{"Maintenance mode cannot be used while data distribution is disabled", "say datadistribution enable ssfailure, or datadistribution on", false},
	{"Database unreachable", "the database does not answer", false},
	{"The database is unavailable", "the database does not answer", false},
	{"Unknown command", "fdbcli must be of the major and minor version of the database", true},
	{"is neither a valid network endpoint address nor a locality", "fdbcli must be of the major and minor version of the database", true},
	{"is not a valid network endpoint address", "fdbcli must be of the major and minor version of the database", true},
}

func (r refusal) Error() string {
	return fmt.Sprintf("%s: %v: %s", r.command, ErrCommand, r.why())
}

func (r refusal) Is(target error) bool { return target == ErrCommand }

// why is the text, and what it means where that is known.
func (r refusal) why() string {
	said := engines.OneLine(r.text)
	if words, _ := r.meaning(); words != "" {
		return said + ": " + words
	}
	return said
}

func (r refusal) meaning() (words string, person bool) {
	for _, known := range refusals {
		if strings.Contains(r.text, known.sign) {
			return known.words, known.person
		}
	}
	return "", false
}

// progress is what becomes of an order that was refused so, by an error that has it in it.
func (r refusal) progress(err error) engines.Progress {
	switch words, person := r.meaning(); {
	case person:
		return refused("%v", err)
	case words == "":
		return running("%v (words that are not known: somebody should look; it is asked again)", err)
	}
	return running("%v", err)
}
