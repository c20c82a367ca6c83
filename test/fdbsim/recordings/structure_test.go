package recordings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// leaves are what a document says, each with its path: what kind of value there is, and the value itself where it is a word,
// a truth or a count that means something. Processes are told by their address, roles by their name.
func leaves(value any, path string, out map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		out[path] = "an object"
		for key, x := range v {
			switch path {
			case "cluster.processes":
				process(x.(map[string]any), out)
			default:
				leaves(x, strings.TrimPrefix(path+"."+key, "."), out)
			}
		}
	case []any:
		out[path] = "a list"
		for i, x := range v {
			leaves(x, path+item(path, i, x), out)
		}
	case string:
		out[path] = word(path, v)
	case bool:
		out[path] = fmt.Sprint(v)
	case float64:
		out[path] = count(path, v)
	default:
		out[path] = fmt.Sprintf("%T", v)
	}
}

// item is what an element of a list is called: by its number or address where that has a meaning.
func item(path string, i int, x any) string {
	if strings.HasSuffix(path, ".log_interfaces") {
		at, _ := x.(map[string]any)["address"].(string)
		return "[" + at + "]"
	}
	switch path {
	case "cluster.logs":
		return []string{"[current]", "[old]"}[min(i, 1)]
	case "client.coordinators.coordinators", "cluster.messages", "client.messages", "cluster.configuration.excluded_servers", "cluster.data.team_trackers":
		return fmt.Sprintf("[%d]", i)
	default:
		return "[]"
	}
}

// process is an entry of cluster.processes. Storage, logs and coordinators are where their class puts them; the other roles
// are anywhere.
func process(p map[string]any, out map[string]string) {
	at := "cluster.processes[" + p["address"].(string) + "]"
	var settled []string
	for key, x := range p {
		if key != "roles" {
			leaves(x, at+"."+key, out)
			continue
		}
		for _, r := range x.([]any) {
			role := r.(map[string]any)
			name := role["role"].(string)
			of := "cluster.processes[]"
			if p["locality"] == nil {
				of = at // a process that does not answer
			}
			leaves(role, of+".roles["+name+"]", out)
			if slices.Contains([]string{"storage", "log", "coordinator"}, name) && !slices.Contains(settled, name) {
				settled = append(settled, name)
			}
		}
	}
	slices.Sort(settled)
	out[at], out[at+".roles"] = "an object", "has "+strings.Join(settled, ",")
}

// anyWord are strings whose value is of the one cluster or the other.
var anyWord = regexp.MustCompile(`(processid|\.id|command_line|connection_string|created_time_datetime|source_version|clients\..*address)$`)

func word(path, value string) string {
	if anyWord.MatchString(path) {
		return "a string"
	}
	return fmt.Sprintf("%q", value)
}

// counts are numbers whose value means something.
var counts = regexp.MustCompile(`(min_replicas_remaining|max_zone_failures_\w+|log_fault_tolerance|log_replication_factor|log_write_anti_quorum|coordinators_count|` +
	`contributing_workers|unhealthy_servers|usable_regions|highest_priority|degraded_processes)$`)

func count(path string, value float64) string {
	if counts.MatchString(path) {
		return fmt.Sprint(value)
	}
	return "a number"
}
