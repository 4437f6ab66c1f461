package openapi

import "reflect"

// computedKinds adds the kinds that are not stored, which client-go's scheme does not
// have.
func (s *source) computedKinds(byName map[string][]any) {
	for _, row := range s.table.All() {
		if row.IsStored() || row.NewList == nil {
			continue
		}
		for kind, model := range map[string]any{row.Kind: row.New(), row.ListKind: row.NewList()} {
			if name := modelName(indirect(reflect.TypeOf(model))); name != "" && byName[name] == nil {
				byName[name] = []any{map[string]any{"group": row.Group, "version": row.Version, "kind": kind}}
			}
		}
	}
}
