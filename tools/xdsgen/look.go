package main

import (
	"context"
	"fmt"
	"io"

	"github.com/xdsforge/xdsforge/gen"
)

// explain describes the code that is generated from the descriptors in the arguments.
func (o *options) explain(ctx context.Context, stdout io.Writer) (bool, error) {
	_, paths, err := find(o.args)
	if err != nil {
		return false, err
	}
	inputs, err := o.inputs(paths)
	if err != nil {
		return false, err
	}
	for _, in := range inputs {
		text, err := in.Explain(ctx)
		if err != nil {
			return false, err
		}
		if _, err := stdout.Write(text); err != nil {
			return false, err
		}
	}
	return true, nil
}

// schema prints the JSON Schema of the resources of a descriptor. Without an argument, it prints that
// of descriptors.
func (o *options) schema(ctx context.Context, stdout io.Writer) (bool, error) {
	text, err := gen.Schema()
	if len(o.args) > 0 {
		text, err = o.resourceSchema(ctx)
	}
	if err != nil {
		return false, err
	}
	_, err = stdout.Write(text)
	return true, err
}

func (o *options) resourceSchema(ctx context.Context) ([]byte, error) {
	_, paths, err := find(o.args)
	if err != nil {
		return nil, err
	}
	if len(paths) != 1 {
		return nil, fmt.Errorf("there are %d descriptors in %s; a schema is of one", len(paths), o.args[0])
	}
	inputs, err := o.inputs(paths)
	if err != nil {
		return nil, err
	}
	return inputs[0].ResourceSchema(ctx)
}
