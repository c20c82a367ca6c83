package mysqltest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/credentials"
)

// Each runs the test for both flavors.
func Each(t *testing.T, test func(*testing.T, Flavor)) {
	for _, flavor := range Flavors {
		t.Run(string(flavor), func(t *testing.T) { test(t, flavor) })
	}
}

// Fixed credentials.
func Fixed(user, password string) credentials.Source {
	return func() (string, credentials.Secret, error) { return user, credentials.NewSecret(password), nil }
}

// Table makes one for the application and returns its connections.
func Table(t testing.TB, s *Server) *sql.DB {
	t.Helper()
	app := s.Open(AppUser, AppPassword, "app")
	_, err := app.Exec("CREATE TABLE numbers (n INT PRIMARY KEY)")
	require.NoError(t, err)
	return app
}

// Insert a number into the table.
func Insert(db *sql.DB, n int) error {
	_, err := db.Exec("INSERT INTO numbers VALUES (?)", n)
	return err
}

// Eventually waits a minute for it.
func Eventually(t testing.TB, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline))
	}
}
