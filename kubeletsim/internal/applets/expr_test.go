package applets

import (
	"errors"
	"strings"
	"testing"
)

func TestExpr(t *testing.T) {
	for _, tt := range []struct {
		words string
		want  string
		holds bool
		err   error
	}{
		{"5 % 2", "1", true, nil},
		{"4 % 2", "0", false, nil},
		{"1 + 2 * 3 - 10 / 2", "2", true, nil},
		{"( 1 + 2 ) * 3", "9", true, nil},
		{"10 > 9", "1", true, nil},
		{"abc < abd", "1", true, nil},
		{"7 != 7", "0", false, nil},
		{"0 | 5", "5", true, nil},
		{"3 & 0", "0", false, nil},
		{"-3 - -4", "1", true, nil},
		{"word", "word", true, nil},
		{"% 2", "", false, errExprSyntax},
		{"1 +", "", false, errExprSyntax},
		{"1 2", "", false, errExprSyntax},
		{"( 1", "", false, errExprSyntax},
		{"", "", false, errExprSyntax},
		{"1 / 0", "", false, errExprDivisor},
		{"a + 1", "", false, errExprNumber},
		{"abc : a", "", false, ErrExprUnknown},
		{"length abc", "", false, ErrExprUnknown},
	} {
		got, holds, err := Expr(strings.Fields(tt.words))
		if !errors.Is(err, tt.err) {
			t.Errorf("expr %s: error %v, want %v", tt.words, err, tt.err)
		}
		if err == nil && (got != tt.want || holds != tt.holds) {
			t.Errorf("expr %s = %q, %v; want %q, %v", tt.words, got, holds, tt.want, tt.holds)
		}
	}
}
