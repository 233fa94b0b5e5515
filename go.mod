module sentonce

go 1.26.8
