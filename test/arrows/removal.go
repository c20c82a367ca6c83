package arrows

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Removal is a place in the source that may evict or delete pods, or delete volume
// claims.
type Removal struct {
	File string
	Line int
	What string
}

func (r Removal) String() string { return fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.What) }

// otherResources are getters of typed clients whose Delete removes no pod and no data. Anything
// that is not in this list counts as pods: a new client, a variable or a field has to be written so
// that the reader sees what is deleted.
var otherResources = []string{
	"Services", "Secrets", "ConfigMaps", "Leases", "Events", "PodDisruptionBudgets",
	"ValidatingAdmissionPolicies", "ValidatingAdmissionPolicyBindings", "MutatingWebhookConfigurations", "DatabaseClusters",
	"CertificateSigningRequests",
}

// ScanTree finds removals in all Go files below roots, tests aside.
func ScanTree(dir string, roots []string, skip func(path string) bool) ([]Removal, error) {
	var found []Removal
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join(dir, root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || skip(name) {
				return nil
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			removals, err := Scan(name, source)
			found = append(found, removals...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("scan %s: %w", root, err)
		}
	}
	return found, nil
}

// Scan finds removals in one file, by its syntax alone.
func Scan(name string, source []byte) ([]Removal, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, 0)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	imported := importNames(file)
	var found []Removal
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if what := removes(call, imported); what != "" {
			found = append(found, Removal{name, files.Position(call.Pos()).Line, what})
		}
		return true
	})
	return found, nil
}

func removes(call *ast.CallExpr, imported []string) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	method := selector.Sel.Name
	switch method {
	case "Evict", "EvictV1", "EvictV1beta1":
		return "calls " + method
	case "DeleteCollection":
		if resource := getter(selector.X); !slices.Contains(otherResources, resource) {
			return "calls DeleteCollection of " + described(resource)
		}
	case "Delete":
		// slices.Delete and the like are functions of packages; methods of maps,
		// metrics and such take one argument; requests of a REST client none.
		if id, ok := selector.X.(*ast.Ident); ok && slices.Contains(imported, id.Name) {
			return ""
		}
		if n := len(call.Args); n == 1 {
			return ""
		}
		if resource := getter(selector.X); !slices.Contains(otherResources, resource) {
			return "calls Delete of " + described(resource)
		}
	}
	for _, arg := range call.Args {
		if literal, ok := arg.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && (text == "eviction" || text == "pods/eviction") {
				return "asks for the subresource " + text + " by " + method
			}
		}
	}
	return ""
}

// getter returns the name of the last call before the method: Pods in
// client.CoreV1().Pods(ns).Delete, "" for a variable.
func getter(x ast.Expr) string {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return ""
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	return selector.Sel.Name
}

func described(resource string) string {
	if resource == "" {
		return "something that is not named on the spot"
	}
	return resource
}

func importNames(file *ast.File) []string {
	var names []string
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		names = append(names, name)
	}
	return names
}
