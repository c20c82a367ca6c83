package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
)

// withDebian puts a mmdebstrap into PATH that makes the root of a server of this version, or fails with what it says.
func withDebian(t *testing.T, s sqlServer, version, says string) (asked func() string) {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	write := func(path, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o755))
	}
	write("var/lib/dpkg/status", "Package: libc6\nVersion: 2.43-1\n\nPackage: "+s.packages[0]+"\nStatus: install ok installed\nVersion: "+version+"\n\n")
	write("usr/lib/x86-linux-gnu/libx.so.1", "")
	write("usr/lib/x86-linux-gnu/ld-linux-x.so.2", "#!/bin/sh\necho \"$@\"\n")
	for _, part := range s.parts {
		if strings.Contains(part, "bin/") || strings.HasSuffix(part, ".so") {
			write(part, "#!/bin/sh\necho \"$@\"\n")
		} else {
			write(part+"/x", "")
		}
	}
	for _, script := range s.scripts {
		write("usr/bin/"+script, "#!/bin/sh\n")
	}
	arguments := filepath.Join(dir, "asked")
	script := "#!/bin/sh\necho \"$@\" >>" + arguments + "\nfor file; do :; done\ntar -C " + root + " -cf \"$file\" .\n"
	if says != "" {
		script = "#!/bin/sh\necho '" + says + "' >&2\nexit 1\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mmdebstrap"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		text, err := os.ReadFile(arguments)
		require.NoError(t, err)
		return string(text)
	}
}

func TestSQLImages(t *testing.T) {
	for _, s := range []sqlServer{mysqlServer, mariadbServer} {
		t.Run(s.name, func(t *testing.T) {
			asked := withDebian(t, s, "1:99.1.2-0+deb12u1", "")
			b := builder(t)
			for _, fresh := range []bool{true, false} {
				built, err := b.Build(t.Context(), s.name)
				require.NoError(t, err)
				require.Equal(t, fresh, built[0].Fresh)
				tags, err := archive.Tags(built[0].Archive)
				require.NoError(t, err)
				require.Equal(t, []string{s.image + ":1", s.image + ":2", s.image + ":2-broken"}, tags)
				one, two, broken := built[0].Images[0], built[0].Images[1], built[0].Images[2]
				require.NotEqual(t, one.Config.Env, two.Config.Env, "other images to Kubernetes")
				require.Empty(t, one.Config.Entrypoint, "what a manifest says runs")
				require.NotEmpty(t, broken.Config.Entrypoint, "whatever a manifest says")
				require.NotEqual(t, "0", strings.Split(one.Config.User, ":")[0])
			}
			require.Equal(t, 1, strings.Count(asked(), "\n"), "Debian is asked once")
			require.Contains(t, asked(), "--include="+strings.Join(s.packages, ","))
			require.Contains(t, asked(), "path-exclude=/usr/share/doc/*")
			require.Equal(t, s.only.name != "", strings.Contains(asked(), "--customize-hook="), "no package is asked for some files of it")
		})
	}
}

func TestSQLHome(t *testing.T) {
	withDebian(t, mysqlServer, "8.4.0-1", "")
	home, err := MySQLHomes[0].Make(t.Context(), builder(t))
	require.NoError(t, err)
	out, err := exec.Command(filepath.Join(home, "bin", "mysqld"), "--no-defaults", "--port=1").CombinedOutput()
	require.NoError(t, err, "%s", out)
	root := filepath.Join(home, "root")
	words := strings.Fields(string(out))
	require.Equal(t, []string{"--library-path", root + "/usr/lib/x86-linux-gnu", root + "/usr/sbin/mysqld", "--no-defaults", "--port=1"}, words[:5])
	require.Contains(t, words, "--plugin-dir="+root+"/usr/lib/mysql/plugin")

	withDebian(t, mariadbServer, "1:10.11.19-0+deb12u1", "")
	home, err = MariaDBHomes[0].Make(t.Context(), builder(t))
	require.NoError(t, err)
	out, err = exec.Command(filepath.Join(home, "bin", "mariadb-install-db"), "--no-defaults").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "--basedir="+home+" --no-defaults\n", string(out), "it is a script of its own")
	require.FileExists(t, filepath.Join(home, "sbin", "mariadbd"))
	require.FileExists(t, filepath.Join(home, "share", "mysql", "x"))
	out, err = exec.Command(filepath.Join(home, "bin", "mariadbd"), "--no-defaults").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, strings.Fields(string(out)), "--basedir="+home, "where a member of Galera looks for the scripts of a state transfer")
	require.FileExists(t, filepath.Join(home, "bin", "wsrep_sst_rsync"))
	require.FileExists(t, filepath.Join(home, "root", "usr", "lib", "libgalera_smm.so"))
}

func TestNoMySQLIsSaidClearly(t *testing.T) {
	for name, c := range map[string]struct{ version, says, want string }{
		"none":    {"", "E: Unable to locate package mysql-server-core", "Debian sid has no mysql-server-core at this time, so nothing can be tested with MySQL"},
		"too old": {"8.0.45-1", "", "Debian sid has MySQL 8.0.45, and the oldest that will do is 8.4"},
	} {
		t.Run(name, func(t *testing.T) {
			withDebian(t, mysqlServer, c.version, c.says)
			b := builder(t)
			_, err := b.Build(t.Context(), "mysql")
			require.ErrorIs(t, err, ErrNoServer)
			require.ErrorContains(t, err, c.want)
			_, err = MySQLHomes[0].Make(t.Context(), b)
			require.ErrorIs(t, err, ErrNoServer, "nothing was kept of it")
		})
	}
	withDebian(t, mysqlServer, "", "E: Could not resolve host")
	_, err := builder(t).Build(t.Context(), "mysql")
	require.NotErrorIs(t, err, ErrNoServer, "the network is something else")
	require.ErrorContains(t, err, "Could not resolve host")
}

func TestAccept(t *testing.T) {
	for version, want := range map[string]bool{"8.4.0": true, "8.10.1": true, "9.7.4": true, "10.0": true, "8.3.9": false, "5.7.44": false, "x": false} {
		require.Equal(t, want, mysqlServer.accept(version) == nil, version)
	}
	require.NoError(t, mariadbServer.accept("10.11.19"))
	require.NoError(t, mariadbServer.accept("11.8.3"))
	require.ErrorIs(t, mariadbServer.accept("10.6.20"), ErrNoServer)
	require.Equal(t, "10.11.19", upstream("1:10.11.19-0+deb12u1"))
}
