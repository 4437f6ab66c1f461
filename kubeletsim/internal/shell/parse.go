package shell

import (
	"context"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/shelltree"
)

// Parse parses a script, with the limits of package shelltree. It takes steps of the caller's turn.
func Parse(ctx context.Context, text, name string) (*syntax.File, error) {
	turn := TurnOf(ctx)
	return shelltree.Parse(text, name, func() error { return turn.Step(ctx) })
}

// parseArithmetic is Parse for an arithmetic expression.
func parseArithmetic(ctx context.Context, text string) (syntax.ArithmExpr, error) {
	turn := TurnOf(ctx)
	return shelltree.ParseArithmetic(text, func() error { return turn.Step(ctx) })
}
