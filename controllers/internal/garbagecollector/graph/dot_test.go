package graph

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestDOT(t *testing.T) {
	g := New()
	g.Seen(object("alone"))
	g.Seen(object("owner", foreground))
	g.Seen(object("dependent", ownedBy("owner", "gone")))
	g.Seen(object("other"))
	g.Seen(object("others", ownedBy("other")))
	for name, tt := range map[string]struct {
		uids    []types.UID
		has, no []string
	}{
		"all": {
			has: []string{
				"strict digraph full {\n", `"dependent" -> "owner";`, `"dependent" -> "gone";`, `"others" -> "other";`,
				`name="owner" kind="ConfigMap" apiVersion="v1" missing="false" beingDeleted="true" deletingDependents="true" virtual="false"];`,
				`name="gone" kind="ConfigMap" apiVersion="v1" missing="false" beingDeleted="false" deletingDependents="false" virtual="true"];`,
			},
			no: []string{"alone"},
		},
		"of one": {uids: []types.UID{"owner"}, has: []string{`"dependent" -> "owner";`, `"gone" [`}, no: []string{`"other" [`, "alone"}},
		"none":   {uids: []types.UID{"unknown"}, has: []string{"strict digraph full {\n"}, no: []string{"->"}},
	} {
		t.Run(name, func(t *testing.T) {
			var dot strings.Builder
			g.WriteDOT(&dot, tt.uids)
			for _, text := range tt.has {
				if !strings.Contains(dot.String(), text) {
					t.Errorf("there is no %s in\n%s", text, dot.String())
				}
			}
			for _, text := range tt.no {
				if strings.Contains(dot.String(), text) {
					t.Errorf("there is %s in\n%s", text, dot.String())
				}
			}
		})
	}
}
