package enroll

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Engines are the choices, as --engine names them.
var Engines = []model.Engine{model.Solr, model.OpenSearch, model.MySQL, model.MariaDB, model.Galera, model.ZooKeeper, model.FoundationDB}

func choices() string {
	var names []string
	for _, e := range Engines {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// ParseEngine knows an engine by its name, in letters of any case.
func ParseEngine(text string) (model.Engine, error) {
	for _, e := range Engines {
		if strings.EqualFold(string(e), text) {
			return e, nil
		}
	}
	return "", fmt.Errorf("--engine is %q: must be one of %s", text, choices())
}

// supported returns an error if an image names a database that no engine is for, whatever the user
// says that it is.
func supported(sets []appsv1.StatefulSet) error {
	for i := range sets {
		if c := database.Container(&sets[i].Spec.Template); c != nil && database.Unsupported(c.Image) != "" {
			return fmt.Errorf("the image %s of StatefulSet %s is %s, which is not supported: agents refuse its servers (deploy/docs/compatibility.md)", c.Image, sets[i].Name, database.Unsupported(c.Image))
		}
	}
	return nil
}

// engineOf returns the engine that the images of the database containers name, and the image that
// names it.
func engineOf(sets []appsv1.StatefulSet) (model.Engine, string, error) {
	var engine model.Engine
	var said string
	for i := range sets {
		c := database.Container(&sets[i].Spec.Template)
		if c == nil {
			return "", "", fmt.Errorf("StatefulSet %s has no container: --engine has to say which database it is, one of %s", sets[i].Name, choices())
		}
		is, named := database.EngineOf(c), database.NamedIn(c.Image)
		switch {
		case is == "" && len(named) == 1:
			return "", "", fmt.Errorf("the image %s of container %s in StatefulSet %s is of %s, and its ports are those of another database: set --engine to one of %s", c.Image, c.Name, sets[i].Name, named[0], choices())
		case is == "":
			return "", "", fmt.Errorf("the image %s of container %s in StatefulSet %s does not say which database it is: set --engine to one of %s", c.Image, c.Name, sets[i].Name, choices())
		case engine != "" && engine != is:
			return "", "", fmt.Errorf("the image %s of StatefulSet %s is of %s, and %s of %s: set --engine to one of %s, or only the StatefulSets of one database",
				said, sets[0].Name, engine, c.Image, sets[i].Name, choices())
		}
		engine, said = is, c.Image
	}
	return engine, said, nil
}
