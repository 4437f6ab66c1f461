package hooks

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// types has the schemas with which policies apply configurations. Upstream downloads them,
// and has none until the first download has ended; these are made on first use.
type types struct {
	table func() *resources.Table
	of    func(kind schema.GroupVersionKind) managedfields.TypeConverter

	mu sync.Mutex
	// known are the schemas of the kinds in knownTable.
	knownTable *resources.Table
	known      map[schema.GroupVersionKind]managedfields.TypeConverter
}

// GetTypeConverter implements patch.TypeConverterManager.
func (t *types) GetTypeConverter(kind schema.GroupVersionKind) managedfields.TypeConverter {
	t.mu.Lock()
	defer t.mu.Unlock()
	if table := t.table(); table != t.knownTable {
		t.knownTable, t.known = table, map[schema.GroupVersionKind]managedfields.TypeConverter{}
	}
	converter, ok := t.known[kind]
	if !ok {
		converter = t.of(kind)
		t.known[kind] = converter
	}
	return converter
}

// Run implements patch.TypeConverterManager. There is nothing to run.
func (*types) Run(context.Context) {}
