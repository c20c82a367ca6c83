package solr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// metricsTextSince is the first version whose metrics are text only.
var metricsTextSince = version{10, 0}

// metricIndexSize is the size of one core's index, in metrics that are text.
const metricIndexSize = "solr_core_index_size_megabytes"

// dataBytes sums the index sizes of the node's cores.
func (a *api) dataBytes(ctx context.Context, running string) (int64, error) {
	v, err := parseVersion(running)
	if err != nil {
		return 0, err
	}
	if v.atLeast(metricsTextSince) {
		return fetch(ctx, a, pathMetrics, web.Query("wt", "prometheus", "name", metricIndexSize), decodeDataText)
	}
	return fetch(ctx, a, pathMetrics, web.Query("group", "core", "prefix", "INDEX.sizeInBytes", "compact", "true", "wt", "json"), decodeDataBytes)
}

func decodeDataBytes(body []byte) (int64, error) {
	var answer struct {
		Metrics map[string]struct {
			Size flexInt `json:"INDEX.sizeInBytes"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, fmt.Errorf("decode metrics: %w", err)
	}
	total := int64(0)
	for _, core := range answer.Metrics {
		if core.Size < 0 || total+int64(core.Size) < total {
			return 0, fmt.Errorf("decode metrics: index size %d: must be a size in bytes", core.Size)
		}
		total += int64(core.Size)
	}
	return total, nil
}

// decodeDataText reads the lines "name{labels} value". A label's value may hold anything, so the value is what
// follows the last blank.
func decodeDataText(body []byte) (int64, error) {
	total := 0.0
	for line := range bytes.Lines(body) {
		text := strings.TrimSpace(string(line))
		name, _, _ := strings.Cut(text, "{")
		if name != metricIndexSize {
			continue
		}
		value := text[strings.LastIndexByte(text, ' ')+1:]
		size, err := strconv.ParseFloat(value, 64)
		if err != nil || !(size >= 0) || size > math.MaxInt64>>21 {
			return 0, fmt.Errorf("decode metrics: index size %q: must be a size in megabytes", engines.OneLine(value))
		}
		total += size * (1 << 20)
	}
	if total > math.MaxInt64>>1 {
		return 0, fmt.Errorf("decode metrics: index sizes of %g bytes", total)
	}
	return int64(math.Round(total)), nil
}
