package releases

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// recordFields lists the fields of API types that not all releases have: the type, the field, and the
// releases that have it. Fields that are as old as their type are left out.
func recordFields() (string, error) {
	types, fields := map[string]*spans{}, map[string]*spans{}
	see := func(all map[string]*spans, name string, i int) {
		if all[name] == nil {
			all[name] = &spans{}
		}
		all[name][i] = true
	}
	for i, patch := range patches {
		dir, err := source("kubernetes", patch)
		if err != nil {
			return "", err
		}
		data, err := os.ReadFile(filepath.Join(dir, "api/openapi-spec/swagger.json"))
		if err != nil {
			return "", err
		}
		var document struct {
			Definitions map[string]struct{ Properties map[string]json.RawMessage }
		}
		if err := json.Unmarshal(data, &document); err != nil {
			return "", fmt.Errorf("the OpenAPI document of %s: %w", patch, err)
		}
		for name, d := range document.Definitions {
			see(types, name, i)
			for field := range d.Properties {
				see(fields, name+" "+field, i)
			}
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		of, _, _ := strings.Cut(name, " ")
		if *fields[name] != *types[of] {
			fmt.Fprintln(&b, strings.TrimPrefix(name, "io.k8s."), fields[name])
		}
	}
	return b.String(), nil
}
