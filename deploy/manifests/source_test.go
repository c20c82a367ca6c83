package manifests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// owner is the program that has a metric.
type owner string

const (
	ofCoordinator owner = "coordinators"
	ofAgent       owner = "agents"
)

type metric struct {
	name      string
	histogram bool
	owner     owner
}

var literalName = regexp.MustCompile(`^rollcall_[a-z0-9_]+$`)

// metricsInCode reads the metrics' names in the programs' source: the options
// and descriptions that are given to the Prometheus client. One whose name cannot
// be told fails the test, and so does a name that none of them has.
func metricsInCode(t *testing.T) []metric {
	t.Helper()
	var all []metric
	for _, root := range []string{"agent", "cmd", "coordinator", "engines"} {
		err := filepath.WalkDir("../../"+root, func(dir string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			who := ofCoordinator
			if path := filepath.ToSlash(dir); strings.HasPrefix(path, "../../agent") || strings.HasSuffix(path, "/rollcall-agent") {
				who = ofAgent
			}
			all = append(all, metricsIn(t, dir, who)...)
			return nil
		})
		require.NoError(t, err)
	}
	require.NotEmpty(t, all)
	return all
}

// source is one package.
type source struct {
	t     *testing.T
	set   *token.FileSet
	files []*ast.File
	owner owner
	found []metric
	path  []ast.Node // from the file to the node that is looked at
}

func metricsIn(t *testing.T, dir string, who owner) []metric {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	s := &source{t: t, set: token.NewFileSet(), owner: who}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".pb.go") {
			continue
		}
		file, err := parser.ParseFile(s.set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		s.files = append(s.files, file)
	}
	for _, file := range s.files {
		s.walk(file, s.look)
	}
	for _, file := range s.files {
		s.walk(file, s.isFound)
	}
	return s.found
}

func (s *source) walk(file *ast.File, look func(ast.Node)) {
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			s.path = s.path[:len(s.path)-1]
			return true
		}
		s.path = append(s.path, n)
		look(n)
		return true
	})
}

// look finds prometheus.GaugeOpts{Name: ...} and its like, and prometheus.NewDesc(...).
func (s *source) look(n ast.Node) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		kind, ok := s.ofClient(n.Type)
		if !ok || !strings.HasSuffix(kind, "Opts") {
			return
		}
		parts := map[string]ast.Expr{}
		for _, element := range n.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				if key, ok := pair.Key.(*ast.Ident); ok {
					parts[key.Name] = pair.Value
				}
			}
		}
		if _, ok := parts["Name"]; !ok { // of a handler or a collector
			return
		}
		prefix := ""
		for _, part := range []string{"Namespace", "Subsystem"} {
			if parts[part] != nil {
				prefix += s.values(parts[part])[0] + "_"
			}
		}
		s.add(prefix, parts["Name"], kind == "HistogramOpts")
	case *ast.CallExpr:
		if name, ok := s.ofClient(n.Fun); ok && name == "NewDesc" {
			s.add("", n.Args[0], false)
		}
	}
}

// ofClient is the name of what the Prometheus client exports.
func (s *source) ofClient(e ast.Expr) (string, bool) {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	x, ok := selector.X.(*ast.Ident)
	return selector.Sel.Name, ok && x.Name == "prometheus"
}

func (s *source) add(prefix string, name ast.Expr, histogram bool) {
	for _, value := range s.values(name) {
		s.found = append(s.found, metric{name: prefix + value, histogram: histogram, owner: s.owner})
	}
}

// values a text can have: that of a literal or a constant, or all with which the
// function is called of which it is a parameter.
func (s *source) values(e ast.Expr) []string {
	s.t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		require.NoError(s.t, err)
		return []string{value}
	case *ast.Ident:
		if value := s.constant(e.Name); value != nil {
			return s.values(value)
		}
		for i := len(s.path) - 1; i > 0; i-- {
			function, at := nameAndParameter(s.path[i], s.path[i-1], e.Name)
			if at < 0 {
				continue
			}
			var all []string
			for _, call := range s.calls(function) {
				all = append(all, s.values(call.Args[at])...)
			}
			if len(all) > 0 {
				return all
			}
		}
	}
	require.Fail(s.t, "what is this metric called? Use a literal, a constant, or a function that is called with one", s.set.Position(e.Pos()).String())
	return nil
}

func (s *source) constant(name string) (value ast.Expr) {
	for _, file := range s.files {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				for _, spec := range g.Specs {
					v := spec.(*ast.ValueSpec)
					if i := slices.IndexFunc(v.Names, func(n *ast.Ident) bool { return n.Name == name }); i >= 0 && i < len(v.Values) {
						value = v.Values[i]
					}
				}
			}
		}
	}
	return value
}

// nameAndParameter: by which name a function is called, and which of its
// parameters has the other name; -1 when the node is no such function.
func nameAndParameter(n, parent ast.Node, parameter string) (function string, at int) {
	var kind *ast.FuncType
	switch n := n.(type) {
	case *ast.FuncDecl:
		function, kind = n.Name.Name, n.Type
	case *ast.FuncLit:
		assign, ok := parent.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 {
			return "", -1
		}
		name, ok := assign.Lhs[0].(*ast.Ident)
		if !ok {
			return "", -1
		}
		function, kind = name.Name, n.Type
	default:
		return "", -1
	}
	at = -1
	i := 0
	for _, field := range kind.Params.List {
		for _, name := range field.Names {
			if name.Name == parameter {
				at = i
			}
			i++
		}
	}
	return function, at
}

func (s *source) calls(function string) (calls []*ast.CallExpr) {
	for _, file := range s.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == function {
					calls = append(calls, call)
				}
			}
			return true
		})
	}
	return calls
}

// isFound: a text that looks like a metric's name is one.
func (s *source) isFound(n ast.Node) {
	literal, ok := n.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	value, err := strconv.Unquote(literal.Value)
	require.NoError(s.t, err)
	if literalName.MatchString(value) {
		require.True(s.t, slices.ContainsFunc(s.found, func(m metric) bool { return m.name == value }),
			"%s: %s is made in a way that this test does not understand", s.set.Position(n.Pos()), value)
	}
}
