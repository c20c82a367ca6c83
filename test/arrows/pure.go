package arrows

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
)

// worldly are packages of the standard library with which a function depends on, or changes, more
// than its arguments.
var worldly = []string{
	"context", "crypto/rand", "io", "io/fs", "log", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec",
	"reflect", "runtime", "sync", "sync/atomic", "syscall", "testing", "unique", "unsafe",
}

// clocks are functions of package time that read a clock or wait for one.
var clocks = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick"}

// Impure finds in one file, by its syntax alone, what lets a result depend on more than arguments, or outlive
// the call: clocks, other worldly packages, goroutines, channels, and variables of the package that may change.
func Impure(name string, source []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, 0)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	var found []string
	note := func(at ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s:%d: %s", name, files.Position(at.Pos()).Line, what))
	}
	for _, i := range file.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil && slices.Contains(worldly, path) {
			note(i, "imports "+path)
		}
	}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && slices.ContainsFunc(g.Specs, mayChange) {
			note(g, "has a variable")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			note(n, "starts a goroutine")
		case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			note(n, "has a channel")
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
				note(n, "asks a clock: time."+n.Sel.Name)
			}
		}
		return true
	})
	return found, nil
}

// mayChange reports whether a variable is neither made by errors.New nor a table. Nobody sets these
// again.
func mayChange(s ast.Spec) bool {
	v, ok := s.(*ast.ValueSpec)
	if !ok || len(v.Values) != 1 {
		return true
	}
	switch value := v.Values[0].(type) {
	case *ast.CompositeLit:
		return len(value.Elts) == 0
	case *ast.CallExpr:
		f, ok := value.Fun.(*ast.SelectorExpr)
		if !ok || f.Sel.Name != "New" {
			return true
		}
		of, ok := f.X.(*ast.Ident)
		return !ok || of.Name != "errors"
	}
	return true
}
