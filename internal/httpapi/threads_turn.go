package httpapi

const turnKey = "turn-"
