package sql

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBeginningOfAStatement(t *testing.T) {
	require.Equal(t, "SHOW ALL REPLICAS STATUS", beginningOf("SHOW ALL REPLICAS STATUS"))
	require.Equal(t, "SELECT VERSION() AS version, @@server_id", beginningOf("SELECT VERSION() AS version, @@server_id AS id"))
	require.Empty(t, beginningOf(""))
}

func TestFewAreRemembered(t *testing.T) {
	var u unanswered
	began := time.Now()
	statement := ""
	for i := range 10 * mostUnanswered {
		statement = fmt.Sprint("KILL CONNECTION ", i)
		u.left(statement, began)
		require.LessOrEqual(t, len(u.since), mostUnanswered)
	}
	u.left(statement, began.Add(time.Minute))
	since, known := u.find(statement)
	require.True(t, known)
	require.Equal(t, began, since, "what counts is when it was asked first")
	u.ended(statement)
	_, known = u.find(statement)
	require.False(t, known)
}
