package diag_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

func ExampleBag() {
	bag := &diag.Bag{File: "resource.yaml"}
	bag.Add(diag.Pos{Line: 9, Column: 3}, diag.UnusedStruct, "nothing uses struct %s", "Part")
	bag.AddHint(diag.Pos{Line: 4, Column: 5}, diag.UnknownKey, diag.Suggest("naem", []string{"doc", "name"}), "unknown key %q in field", "naem")
	fmt.Println(bag.Errors())
	// Output:
	// resource.yaml:4:5: unknown key "naem" in field (did you mean "name"?) [XG003]
	// resource.yaml:9:3: nothing uses struct Part [XG016]
}
